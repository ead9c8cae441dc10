#include "cluster/output_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "cluster/locked_directory.h"
#include "cluster/output_lock.h"
#include "cluster/output_manifest.h"
#include "engine/base/error.h"
#include "engine/io/encoder.h"
#include "engine/io/file_trial.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"

namespace flowrun::cluster {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, int cause) {
  throw error(error_kind::output, fmt::format("can't write {}: {}", path, errno_text(cause)),
              "give a path in a directory that exists and is writable");
}

// A part that isn't here as the task that has written it says.
[[noreturn]] void refuse_part(const std::string& path, const output_part& part, const std::string& why) {
  throw error(error_kind::output,
              fmt::format("can't write {}: of what a task on {} has written, {}", path, part.host, why),
              "outputs must be on storage that all machines share, under the same path");
}

std::string hidden_path(const std::string& path, const std::string& id) {
  const fs::path whole(path);
  return (whole.parent_path() / fmt::format(".{}.flowrun-{}.tmp", whole.filename().string(), id)).string();
}

// What had the name of an output, while the new one takes it.
constexpr std::string_view aside_ending = ".old.tmp";
std::string aside_path(const std::string& path, const std::string& id) {
  const fs::path whole(path);
  return (whole.parent_path() / fmt::format(".{}.flowrun-{}{}", whole.filename().string(), id, aside_ending)).string();
}

// The file system lacks what the call asks for.
bool is_not_to_be_had(int cause) { return cause == EINVAL || cause == ENOSYS || cause == EOPNOTSUPP; }

// ".csv", ".csv.gz"; empty: it has none.
std::string ending_of(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  std::string out = name.extension().string();
  if (io::encoding_of_name(path) != io::encoding::plain) out = name.stem().extension().string() + out;
  return out;
}

void sync_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  const int cause = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (cause != 0 && cause != EINVAL) refuse(path, cause);
}

// A directory is replaced where a job has written all that is in it: with the output that is made in its place it goes.
void check_replaced(const std::string& path, const std::string& directory) {
  std::optional<output_manifest> manifest;
  std::string why;
  try {
    manifest = read_manifest(directory);
  } catch (const error& problem) {
    why = fmt::format(": {}", problem.what());
  }
  if (!manifest)
    throw error(error_kind::output, fmt::format("{} is a directory that no job has written{}", path, why),
                "on a cluster, an output is a folder of parts: give another path, or remove the directory");
  if (const std::string stranger = stranger_in(directory, *manifest); !stranger.empty())
    throw error(error_kind::output,
                fmt::format("{} has {}, which is no part of the output that is there", path, stranger),
                "the new output takes the place of the whole folder: take away what is to stay, or give another path");
}

}  // namespace

bool output_folder::is_made_at(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(io::followed_output(path), ignored) || !io::output_target::is_stream(path);
}

void output_folder::try_path(const std::string& path) {
  const std::string target = io::followed_output(path);
  if (const fs::path name = fs::path(target).filename(); name.empty() || name == "." || name == "..")
    throw error(error_kind::output, fmt::format("{} has no name for an output at its end", path),
                "give the path of the folder itself, without / behind it");
  std::error_code ignored;
  if (fs::is_directory(target, ignored))
    check_replaced(path, target);
  else
    io::try_output(path);
}

output_folder::output_folder(std::string path, const std::string& id)
    : path_(std::move(path)), id_(id), hidden_(hidden_path(io::followed_output(path_), id)) {
  try_path(path_);
  placed_ = was_placed_before_ = is_placed();
  if (placed_) {  // by a process that was killed: what was there before may be left
    const int lock = locked_directory(hidden_);
    if (lock >= 0) remove_directory(hidden_);
    if (lock >= 0) ::close(lock);
    return;
  }
  lock_ = lock_output(hidden_, path_);
  // Each driver looks when its own folder is there and locked, so that of two at least one sees the other.
  try {
    look_at_others();
  } catch (...) {
    remove_directory(hidden_);
    ::close(lock_);
    throw;
  }
}

output_folder::~output_folder() {
  if (!placed_ && !keeps_) remove_directory(hidden_);
  if (lock_ >= 0) ::close(lock_);
}

// What nobody holds any more goes.
void output_folder::look_at_others() const {
  const fs::path target = io::followed_output(path_);
  const std::string prefix = fmt::format(".{}.flowrun-", target.filename().string());
  const fs::path parent = target.parent_path().empty() ? "." : target.parent_path();
  std::error_code ignored;
  std::vector<fs::path> aside;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(".tmp") || name == fs::path(hidden_).filename().string()) continue;
    if (name.ends_with(aside_ending)) {
      aside.push_back(entry.path());
      continue;
    }
    const int lock = locked_directory(entry.path().string());
    if (lock < 0 && errno == EWOULDBLOCK) refuse_beside(entry.path().string(), path_);
    if (lock < 0) continue;  // another user's
    remove_directory(entry.path().string());
    ::close(lock);
  }
  for (const fs::path& replaced : aside) {  // nobody is at work here
    if (fs::exists(target, ignored))
      remove_directory(replaced.string());
    else
      fs::rename(replaced, target, ignored);
  }
}

// By a process that was killed before it could say so.
bool output_folder::is_placed() const {
  try {
    const std::optional<output_manifest> manifest = read_manifest(io::followed_output(path_));
    return manifest && manifest->run == id_;
  } catch (const error&) {
    return false;
  }
}

std::string output_folder::part_path(const std::string& path, const std::string& id, size_t task,
                                     const std::string& attempt) {
  return fmt::format("{}/part-{:05}.{}{}", hidden_path(io::followed_output(path), id), task, attempt, ending_of(path));
}

void output_folder::finish(const std::string& job, const std::vector<std::string>& sorted_by,
                           const std::vector<output_part>& parts) {
  if (placed_) return;
  // Somebody may have put a file there since the job began.
  std::error_code unknown;
  if (const std::string target = io::followed_output(path_); fs::is_directory(target, unknown))
    check_replaced(path_, target);
  output_manifest manifest{id_, job, sorted_by, {}};
  std::set<std::string> names = {output_manifest::name};
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name = fmt::format("part-{:05}{}", i, ending_of(path_));
    std::error_code ignored;
    const std::string part = hidden_ + "/" + name;
    // A process that was killed here may have renamed it.
    if (::rename(parts[i].path.c_str(), part.c_str()) != 0 && (errno != ENOENT || !fs::exists(part, ignored)))
      refuse_part(path_, parts[i], fmt::format("{}: {}", parts[i].path, errno_text(errno)));
    if (const uint64_t size = fs::file_size(part, ignored); ignored || size != parts[i].bytes)
      refuse_part(path_, parts[i], fmt::format("{} has {} bytes here, and not {}", part, size, parts[i].bytes));
    manifest.parts.push_back({name, parts[i].rows, parts[i].bytes, parts[i].hash, parts[i].first, parts[i].last});
    names.insert(name);
  }
  write(manifest, hidden_);
  // What attempts have left that were not the first.
  for (const fs::directory_entry& entry : fs::directory_iterator(hidden_))
    if (!names.contains(entry.path().filename().string())) fs::remove_all(entry.path());
  sync_directory(hidden_);
}

// NFS and others can't exchange two names. For a moment nothing has the name then; what a process that is killed just
// there has left gets it back (look_at_others).
void output_folder::replace_in_two_steps(const std::string& target) {
  const std::string aside = aside_path(target, id_);
  if (::rename(target.c_str(), aside.c_str()) != 0) refuse(path_, errno);
  if (::rename(hidden_.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    static_cast<void>(::rename(aside.c_str(), target.c_str()));
    refuse(path_, cause);
  }
  replaced_ = aside;
}

void output_folder::place() {
  if (placed_) return;
  const std::string target = io::followed_output(path_);
  if (::rename(hidden_.c_str(), target.c_str()) != 0) {
    // Something has the name: a file, or an earlier output. It goes only when the new one is in its place.
    if (::renameat2(AT_FDCWD, hidden_.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0)
      replaced_ = hidden_;
    else if (is_not_to_be_had(errno))
      replace_in_two_steps(target);
    else
      refuse(path_, errno);
  }
  placed_ = true;
  const std::string parent = fs::path(target).parent_path().string();
  sync_directory(parent.empty() ? "." : parent);
}

bool output_folder::take_back() noexcept {
  if (!placed_ || was_placed_before_) return !was_placed_before_;
  try {
    const std::string target = io::followed_output(path_);
    if (replaced_ == hidden_) {
      if (::renameat2(AT_FDCWD, target.c_str(), AT_FDCWD, hidden_.c_str(), RENAME_EXCHANGE) != 0) return false;
    } else {
      if (::rename(target.c_str(), hidden_.c_str()) != 0) return false;
      if (!replaced_.empty() && ::rename(replaced_.c_str(), target.c_str()) != 0) return false;
    }
    placed_ = false;
    replaced_.clear();
    return true;
  } catch (const std::exception&) {  // no memory
    return false;
  }
}

void output_folder::settle() {
  if (!replaced_.empty()) remove_directory(std::exchange(replaced_, {}));
}

}  // namespace flowrun::cluster
