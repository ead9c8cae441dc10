#include "cluster/run_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cluster/cluster.pb.h"
#include "cluster/kept_state.h"
#include "cluster/locked_directory.h"
#include "cluster/shared_directory.h"
#include "engine/base/error.h"
#include "engine/block/scratch_directory.h"
#include "engine/io/directory_lock.h"

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
  block::prepare_scratch_directory(scratch);
  std::error_code problem;
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

std::string facts_in(const std::string& root) { return root + "/facts"; }

// What driver and workers share, of a directory that may be of either kind.
std::string content_of(const std::string& root) {
  Facts told;
  try {
    read_message(facts_in(root), told);
  } catch (const error&) {  // nobody knows what is in it
  }
  return told.folder().empty() ? root : root + "/" + told.folder();
}

// The facts go first: without them nobody goes on with what is left, if this process is killed here.
bool remove_run(const std::string& root) {
  ::unlink(facts_in(root).c_str());
  return remove_directory(root);
}

// Of a name that this program has made up, and no other.
bool is_name(std::string_view name) {
  if (io::is_drawn_name(name, prefix)) return true;
  const std::string start = std::string(prefix) + resumed;
  return name.starts_with(start) && name.size() > start.size() &&
         name.find_first_not_of("0123456789abcdef", start.size()) == std::string_view::npos;
}

// What tasks have written beside outputs, where no driver works.
void remove_hidden_outputs(const std::string& content) {
  for (const std::string& hidden : hidden_outputs_of(shared_directory(content))) {
    const int lock = locked_directory(hidden);
    if (lock < 0) continue;
    remove_directory(hidden);
    ::close(lock);
  }
}

}  // namespace

std::vector<found_run> find_runs(const std::string& scratch) {
  std::vector<found_run> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(scratch, ignored)) {
    struct stat there {};
    const std::string path = entry.path().string();
    if (!is_name(entry.path().filename().string())) continue;
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
  remove_hidden_outputs(content_of(found.path));
  const bool is_gone = remove_run(found.path);
  ::close(lock);
  return is_gone;
}

run_directory::run_directory(const std::string& scratch) {
  const std::string parent = made(scratch);
  for (const found_run& found : find_runs(parent))
    if (!can_be_resumed(found.path)) remove_if_dead(found);
  root_ = fmt::format("{}/{}XXXXXX", parent, prefix);
  if (::mkdtemp(root_.data()) == nullptr) refuse(scratch, errno);
  lock();
  path_ = root_;
}

run_directory::run_directory(const std::string& scratch, const std::string& key, const run_facts& facts)
    : root_(fmt::format("{}/{}{}{}", made(scratch), prefix, resumed, key)) {
  lock();
  Facts told;
  bool is_known = false;
  try {
    is_known = read_message(facts_in(root_), told);
  } catch (const error&) {
    reasons_.push_back("what is there is damaged");
  }
  path_ = content_of(root_);
  if (is_known) reasons_ = differences({told.facts().begin(), told.facts().end()}, facts);
  if (is_known && reasons_.empty()) reasons_ = faults_of_kept(shared_directory(path_));
  if (is_known && reasons_.empty()) return;
  remove_hidden_outputs(path_);
  std::error_code problem;
  for (fs::directory_iterator at(root_, problem), end; !problem && at != end; at.increment(problem))
    remove_directory(at->path().string());
  // Workers of a driver that was killed may go on for a moment. What they write comes into the folder that they know.
  path_ = fmt::format("{}/XXXXXX", root_);
  if (::mkdtemp(path_.data()) == nullptr) refuse(scratch, errno);
  told.Clear();
  told.mutable_facts()->insert(facts.begin(), facts.end());
  told.set_folder(fs::path(path_).filename().string());
  write_message(facts_in(root_), told);
}

void run_directory::lock() {
  lock_ = made_and_locked_directory(root_, 0700);
  if (lock_ >= 0) return;
  if (errno == EWOULDBLOCK)
    throw error(error_kind::resources, fmt::format("another run of this job works in {}", root_),
                "wait until it has ended");
  if (lock_ == -2) refuse(fs::path(root_).parent_path().string(), errno);
  refuse_unlocked(root_, "-T DIR names another scratch directory", "the first scratch directory of a job on a cluster");
}

run_directory::~run_directory() {
  if (!keeps_) remove_run(root_);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace flowrun::cluster
