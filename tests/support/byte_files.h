// Bytes without a pattern, and files that contain given bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace flowrun {

// The same bytes for the same seed.
std::vector<std::byte> random_bytes(size_t num_bytes, unsigned seed = 1);

// Makes or replaces a file. This and `load` fail the test if they can't.
void store(const std::string& path, std::span<const std::byte> bytes);
std::vector<std::byte> load(const std::string& path);

}  // namespace flowrun
