// Sizes in the texts that the program writes for itself.
#pragma once

#include <cstdint>
#include <string>

namespace flowrun::runner {

// "1MiB", "500GB", "12345": as a person would write it; it reads as exactly this number.
std::string exact_bytes(uint64_t num_bytes);

}  // namespace flowrun::runner
