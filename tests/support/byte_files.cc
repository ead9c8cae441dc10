#include "tests/support/byte_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

namespace flowrun {

std::vector<std::byte> random_bytes(size_t num_bytes, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::byte> bytes(num_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(generator());
  return bytes;
}

void store(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  EXPECT_TRUE(out.good()) << "can't write " << path;
}

std::vector<std::byte> load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "can't read " << path;
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace flowrun
