// A directory of one's own below $TMPDIR (/tmp), gone with all that is in it when the object dies. What a process that
// was killed has left there is removed by the next one that asks for it.
#pragma once

#include <string>

namespace flowrun::runner {

class temporary_directory {
 public:
  // Throws error(output) when none can be made.
  temporary_directory();
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1;  // as long as it is open, the directory is in use
};

// Removes those directories below $TMPDIR that are this user's and that no process uses any more.
void remove_abandoned_directories();

}  // namespace flowrun::runner
