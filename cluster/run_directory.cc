#include "cluster/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cluster/cluster.pb.h"
#include "cluster/locked_directory.h"
#include "cluster/shared_directory.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

namespace fs = std::filesystem;

constexpr const char* prefix = "flowrun-cluster-";
constexpr const char* resumed = "resume-";

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, fmt::format("can't make a directory in {}: {}", path, errno_text(cause)),
              "-T DIR names another scratch directory");
}

std::string made(const std::string& scratch) {
  std::error_code problem;
  fs::create_directories(scratch, problem);
  const fs::path whole = fs::absolute(scratch, problem);
  if (problem) refuse(scratch, problem.value());
  return whole.string();
}

std::vector<std::string> differences(const run_facts& before, const run_facts& now) {
  std::vector<std::string> out;
  for (const auto& [name, value] : now) {
    const auto found = before.find(name);
    if (found == before.end())
      out.push_back(fmt::format("{} is new", name));
    else if (found->second != value)
      out.push_back(fmt::format("{} has changed", name));
  }
  for (const auto& [name, value] : before)
    if (!now.contains(name)) out.push_back(fmt::format("{} is gone", name));
  return out;
}

bool can_be_resumed(const std::string& path) {
  return fs::path(path).filename().string().starts_with(std::string(prefix) + resumed);
}

// Files may go while they are counted.
uint64_t num_bytes_in(const std::string& path) {
  uint64_t out = 0;
  std::error_code problem, ignored;
  for (fs::recursive_directory_iterator at(path, problem), end; !problem && at != end; at.increment(problem)) {
    const uint64_t size = at->is_regular_file(ignored) ? at->file_size(ignored) : 0;
    if (!ignored) out += size;
  }
  return out;
}

}  // namespace

std::vector<found_run> find_runs(const std::string& scratch) {
  std::vector<found_run> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch, ignored)) {
    struct stat there {};
    const std::string path = entry.path().string();
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    if (::lstat(path.c_str(), &there) != 0 || !S_ISDIR(there.st_mode) || there.st_uid != ::geteuid()) continue;
    const int lock = locked_directory(path);
    found_run& found = out.emplace_back(found_run{path, 0, lock < 0});
    if (lock >= 0) ::close(lock);
    found.num_bytes = num_bytes_in(path);
  }
  std::sort(out.begin(), out.end(), [](const found_run& a, const found_run& b) { return a.path < b.path; });
  return out;
}

bool remove_if_dead(const found_run& found) {
  const int lock = locked_directory(found.path);
  if (lock < 0) return false;
  const bool is_gone = remove_directory(found.path);
  ::close(lock);
  return is_gone;
}

run_directory::run_directory(const std::string& scratch) {
  const std::string parent = made(scratch);
  for (const found_run& found : find_runs(parent))
    if (!can_be_resumed(found.path)) remove_if_dead(found);
  path_ = fmt::format("{}/{}XXXXXX", parent, prefix);
  if (::mkdtemp(path_.data()) == nullptr) refuse(scratch, errno);
  lock();
}

run_directory::run_directory(const std::string& scratch, const std::string& key, const run_facts& facts)
    : path_(fmt::format("{}/{}{}{}", made(scratch), prefix, resumed, key)) {
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) refuse(scratch, errno);
  lock();
  Facts told;
  bool is_known = false;
  try {
    is_known = read_message(path_ + "/facts", told);
  } catch (const error&) {
    reasons_.push_back("what is there is damaged");
  }
  if (is_known) reasons_ = differences({told.facts().begin(), told.facts().end()}, facts);
  if (is_known && reasons_.empty()) return;
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_, problem)) fs::remove_all(entry.path(), problem);
  told.Clear();
  told.mutable_facts()->insert(facts.begin(), facts.end());
  write_message(path_ + "/facts", told);
}

void run_directory::lock() {
  lock_ = locked_directory(path_);
  if (lock_ < 0 && errno != EWOULDBLOCK)
    throw error(error_kind::output, fmt::format("can't lock {}: {}", path_, errno_text(errno)),
                "the first scratch directory of a job on a cluster must be on storage that has locks (flock; NFS has "
                "them from version 4 on)");
  if (lock_ < 0)
    throw error(error_kind::resources, fmt::format("another run of this job works in {}", path_),
                "wait until it has ended");
}

run_directory::~run_directory() {
  if (!keeps_) remove_directory(path_);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace flowrun::cluster
