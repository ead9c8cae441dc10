// A directory of one's own below $TMPDIR (/tmp), gone with all that is in it when the object dies.
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
};

}  // namespace flowrun::runner
