// Whether an input is still the one that it was: its length, its time, and a hash of samples of its content.
#pragma once

#include <cstdint>
#include <string>

namespace flowrun::resume {

struct input_contents {
  std::string path;
  uint64_t num_bytes = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // content; that or anything else of the file
  uint64_t inode = 0;
  uint64_t content = 0;  // of the first and the last 64 KiB, and of 62 places of 4 KiB between: 1 ms, however long
};

// Throws error(missing_input), error(io); error(usage) for what is no regular file: it can't be read again.
input_contents look_at_input(const std::string& path);

}  // namespace flowrun::resume
