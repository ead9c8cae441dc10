// A file of records that only grows: each with its length and a checksum, so that the end of one that was being written
// when the process or the machine stopped is told from a whole one. (The idea of a write-ahead log.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::resume {

// The whole records at the front of the file, which stays as it is; none when it can't be read.
std::vector<std::string> records_of(const std::string& path);

class record_file {
 public:
  // Opens or makes it, never through a link, mode 0600. Throws error(resources).
  explicit record_file(std::string path);
  ~record_file();
  record_file(const record_file&) = delete;
  record_file& operator=(const record_file&) = delete;

  // All records from the front up to the first one that is not whole, which is cut off.
  std::vector<std::string> read();
  // Durable when it returns. Throws error(io), error(resources).
  void append(std::string_view record);
  void clear();

 private:
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  int descriptor_ = -1;
};

}  // namespace flowrun::resume
