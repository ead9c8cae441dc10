#include "cluster/output_tree.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

output_tree::output_tree(std::string directory, const std::string& id)
    : directory_(std::move(directory)), hidden_(hidden_directory(directory_, id)), was_there_(exists(directory_)) {
  std::error_code problem;
  fs::create_directories(hidden_, problem);
  if (problem)
    throw error(error_kind::output, fmt::format("can't write into {}: {}", directory_, problem.message()),
                "give a path in a directory that exists and is writable");
}

output_tree::~output_tree() {
  if (keeps_) return;
  std::error_code ignored;
  fs::remove_all(hidden_, ignored);
  if (!was_there_) fs::remove(directory_, ignored);  // unless it has files
}

std::string output_tree::hidden_directory(const std::string& directory, const std::string& id) {
  return fmt::format("{}/.flowrun-{}.tmp", directory, id);
}

std::string output_tree::attempt_directory(const std::string& directory, const std::string& id,
                                           const std::string& attempt) {
  return hidden_directory(directory, id) + "/" + attempt;
}

uint64_t output_tree::place(const std::string& of_attempt) {
  if (!exists(of_attempt)) return 0;  // there were no rows
  uint64_t num_files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(of_attempt)) {
    if (entry.is_directory()) continue;
    const fs::path to = fs::path(directory_) / fs::relative(entry.path(), of_attempt);
    std::error_code problem;
    fs::create_directories(to.parent_path(), problem);
    if (!problem) fs::rename(entry.path(), to, problem);
    if (problem)
      throw error(error_kind::output, fmt::format("can't write {}: {}", to.string(), problem.message()),
                  "is something else there that has the name of a file or of a directory?");
    ++num_files;
  }
  return num_files;
}

}  // namespace flowrun::cluster
