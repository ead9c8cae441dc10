#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace flowrun {

temporary_directory::temporary_directory(const std::string& parent)
    : path_((parent.empty() ? std::filesystem::temp_directory_path().string() : parent) + "/flowrun-test-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
}

temporary_directory::~temporary_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string temporary_directory::write(const std::string& name, std::string_view content) const {
  std::string path = *this / name;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  EXPECT_TRUE(out.good()) << "can't write " << path;
  return path;
}

std::string temporary_directory::read(const std::string& name) const {
  std::ifstream in(*this / name, std::ios::binary);
  EXPECT_TRUE(in.good()) << "can't read " << *this / name;
  return {std::istreambuf_iterator<char>(in), {}};
}

bool temporary_directory::has(const std::string& name) const { return std::filesystem::exists(*this / name); }

size_t temporary_directory::num_entries() const {
  const std::filesystem::directory_iterator entries(path_);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace flowrun
