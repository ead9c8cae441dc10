#include "cluster/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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

void remove_dead(const std::string& scratch) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch, ignored)) {
    const std::string name = entry.path().filename().string();
    struct stat there {};
    if (!name.starts_with(prefix) || name.starts_with(std::string(prefix) + resumed)) continue;
    if (::lstat(entry.path().c_str(), &there) != 0 || there.st_uid != ::geteuid()) continue;
    const int lock = locked_directory(entry.path().string());
    if (lock < 0) continue;
    fs::remove_all(entry.path(), ignored);
    ::close(lock);
  }
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

}  // namespace

run_directory::run_directory(const std::string& scratch) {
  const std::string parent = made(scratch);
  remove_dead(parent);
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
  if (lock_ < 0)
    throw error(error_kind::resources, fmt::format("another run of this job works in {}", path_),
                "wait until it has ended");
}

run_directory::~run_directory() {
  std::error_code ignored;
  if (!keeps_) fs::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace flowrun::cluster
