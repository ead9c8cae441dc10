// Tries inputs that are there already, for builds without libFuzzer: each file that is named, and all those of each
// directory. Fails where there is none.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"

namespace {

std::vector<std::string> files_of(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      out.emplace_back(argv[i]);
      continue;
    }
    for (const auto& one : std::filesystem::recursive_directory_iterator(argv[i]))
      if (one.is_regular_file()) out.push_back(one.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> files = files_of(argc, argv);
  for (const std::string& path : files) {
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    try {
      if (!in) throw std::runtime_error("can't be read");
      // On the heap and without a byte behind it, so that tools that watch memory see what is read beyond the end.
      const std::vector<char> exact(bytes.begin(), bytes.end());
      flowrun::fuzz::try_input({exact.data(), exact.size()});
    } catch (const std::exception& problem) {
      fmt::print(stderr, "{}: {}\n", path, problem.what());
      return 1;
    }
  }
  fmt::print("{} inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
