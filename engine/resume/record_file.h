// A file of records that only grows: each with its length and a checksum, so that the end of one that was being written
// when the process or the machine stopped is told from a whole one. (The idea of a write-ahead log.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun::resume {

struct found_records {
  std::vector<std::string> whole;  // from the front up to the first one that is not
  uint64_t cut_bytes = 0;          // behind them: being written when the process ended, or damaged
  bool are_damaged = false;        // whole ones lie behind that, which no process leaves
};

// The file stays as it is; nothing when it can't be read.
found_records records_of(const std::string& path);

class record_file {
 public:
  // Opens or makes it, never through a link, mode 0600. Throws error(resources).
  explicit record_file(std::string path);
  ~record_file();
  record_file(const record_file&) = delete;
  record_file& operator=(const record_file&) = delete;

  // What comes behind the whole records is cut off.
  found_records read();
  // Durable when it returns. Throws error(io), error(resources).
  void append(std::string_view record);
  void clear();

 private:
  [[noreturn]] void fail(const char* what) const;

  const std::string path_;
  int descriptor_ = -1;
};

}  // namespace flowrun::resume
