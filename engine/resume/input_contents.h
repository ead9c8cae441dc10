// Whether an input is still the one that it was: its length, its time, and a hash of samples of its content.
#pragma once

#include <cstdint>
#include <string>

namespace flowrun::resume {

struct input_contents {
  std::string path;
  uint64_t num_bytes = 0;
  int64_t modified_ns = 0;
  uint64_t content = 0;  // of the first and the last 64 KiB, and of 62 places of 4 KiB between: 1 ms, however long
};

// Throws error(missing_input), error(io). What is no regular file has neither length nor content.
input_contents look_at_input(const std::string& path);

}  // namespace flowrun::resume
