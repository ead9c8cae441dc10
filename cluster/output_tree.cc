#include "cluster/output_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cluster/locked_directory.h"
#include "cluster/output_lock.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

output_tree::output_tree(std::string directory, const std::string& id, const output_tree* beside)
    : directory_(std::move(directory)), hidden_(hidden_directory(directory_, id)), was_there_(exists(directory_)) {
  lock_ = beside != nullptr ? ::fcntl(beside->lock_, F_DUPFD_CLOEXEC, 0) : lock_output(hidden_, directory_);
  if (lock_ < 0) throw error(error_kind::output, fmt::format("can't lock {}: {}", hidden_, errno_text(errno)));
  remove_left_over();
}

output_tree::~output_tree() {
  if (placed_ || !keeps_) remove_directory(hidden_);
  if (lock_ >= 0) ::close(lock_);
  std::error_code ignored;
  if (!placed_ && !keeps_ && !was_there_) fs::remove(directory_, ignored);  // unless it has files
}

bool output_tree::is_in(const std::string& directory) const {
  std::error_code ignored;
  return directory == directory_ || fs::equivalent(directory, directory_, ignored);
}

// Of drivers that were killed.
void output_tree::remove_left_over() const {
  std::error_code problem;
  for (fs::directory_iterator at(directory_, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(".flowrun-") || !name.ends_with(".tmp") || name == fs::path(hidden_).filename().string())
      continue;
    const int lock = locked_directory(at->path().string());
    if (lock < 0) continue;  // its driver is alive
    remove_directory(at->path().string());
    ::close(lock);
  }
}

std::string output_tree::hidden_directory(const std::string& directory, const std::string& id) {
  return fmt::format("{}/.flowrun-{}.tmp", directory, id);
}

std::string output_tree::attempt_directory(const std::string& directory, const std::string& id,
                                           const std::string& attempt) {
  return hidden_directory(directory, id) + "/" + attempt;
}

// The second name of what is there; empty: nothing is. Nothing: it can't have one, as on some file systems.
std::optional<std::string> output_tree::keep_replaced(const std::string& path) {
  for (;; ++num_replaced_) {  // an earlier process may have used some of the names
    std::string second = fmt::format("{}/replaced-{}", hidden_, num_replaced_);
    if (::link(path.c_str(), second.c_str()) == 0) return second;
    if (errno == ENOENT) return std::string();
    if (errno != EEXIST) return std::nullopt;
  }
}

uint64_t output_tree::place(const std::string& of_attempt) {
  uint64_t num_files = 0;
  placed_ = !exists(of_attempt);  // there were no rows
  if (placed_) return num_files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(of_attempt)) {
    if (entry.is_directory()) continue;
    const fs::path to = fs::path(directory_) / fs::relative(entry.path(), of_attempt);
    std::error_code problem;
    fs::create_directories(to.parent_path(), problem);
    placed_file file{entry.path().string(), to.string(), keep_replaced(to.string())};
    if (!problem) fs::rename(entry.path(), to, problem);
    if (!problem) files_.push_back(std::move(file));
    if (problem)
      throw error(error_kind::output, fmt::format("can't write {}: {}", to.string(), problem.message()),
                  "is something else there that has the name of a file or of a directory?");
    ++num_files;
  }
  placed_ = true;
  return num_files;
}

bool output_tree::take_back() noexcept {
  bool is_all = true;
  placed_ = false;
  for (; !files_.empty(); files_.pop_back()) {
    const placed_file& file = files_.back();
    // The new content goes to where it was written: a run that goes on gives it its name again. Where it can't, it
    // stays in place: it would be missing then.
    bool is_back = false;
    if (file.replaced && file.replaced->empty())
      is_back = ::rename(file.to.c_str(), file.from.c_str()) == 0;
    else if (file.replaced && ::link(file.to.c_str(), file.from.c_str()) == 0)
      is_back = ::rename(file.replaced->c_str(), file.to.c_str()) == 0;
    is_all = is_all && is_back;
  }
  return is_all;
}

}  // namespace flowrun::cluster
