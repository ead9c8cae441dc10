// libFuzzer's way in.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  flowrun::fuzz::try_input({reinterpret_cast<const char*>(data), num_bytes});
  return 0;
}
