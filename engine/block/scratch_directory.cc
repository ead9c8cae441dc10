// Scratch directories; see scratch_directory.h.
#include "engine/block/scratch_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "engine/base/error.h"
#include "engine/io/file.h"
#include "engine/io/private_directory.h"

namespace flowrun::block {

namespace {

constexpr const char* hint = "name a directory of yours on a disk with room as scratch (-T DIR, or resources: scratch)";

[[noreturn]] void refuse(const std::string& path, const std::string& cause, error_kind kind = error_kind::output) {
  throw error(kind, fmt::format("can't use the scratch directory {}: {}", path, cause), hint);
}

// What may be different later, or why it can't be there.
error_kind kind_of(int cause) {
  const bool for_now = cause == ENOSPC || cause == EDQUOT || cause == ENOMEM || cause == EMFILE || cause == ENFILE;
  return for_now ? error_kind::resources : error_kind::output;
}
[[noreturn]] void refuse(const std::string& path, int cause) { refuse(path, errno_text(cause), kind_of(cause)); }

// lstat would follow "link/".
std::string without_slashes_behind(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// A component that is missing, or not what it should be. `cause`: why it can't be made.
[[noreturn]] void refuse_component(const std::string& path, const std::string& prefix, int cause) {
  struct stat found {};
  if (stat(prefix.c_str(), &found) == 0) refuse(path, fmt::format("{} is not a directory", prefix));
  if (lstat(prefix.c_str(), &found) == 0 && S_ISLNK(found.st_mode))
    refuse(path, fmt::format("{} is a symbolic link that leads nowhere", prefix));
  refuse(path, fmt::format("can't make {}: {}", prefix, errno_text(cause)), kind_of(cause));
}

bool is_ours(const struct stat& entry) { return entry.st_uid == geteuid() || entry.st_uid == 0; }

// Refuses what another user may have put in the way. `path` exists.
void refuse_planted(const std::string& asked, const std::string& path) {
  bool open_to_all = false;  // the directory that holds the entry
  struct stat above {};
  if (path.front() != '/' && stat(".", &above) == 0) open_to_all = (above.st_mode & S_IWOTH) != 0;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    struct stat entry {};
    struct stat directory {};
    if (lstat(prefix.c_str(), &entry) != 0 || stat(prefix.c_str(), &directory) != 0) refuse(asked, errno);
    if (open_to_all && !is_ours(entry))
      refuse(asked, fmt::format("{} is a {} of another user (id {}) in a directory that everybody may write to", prefix,
                                S_ISLNK(entry.st_mode) ? "symbolic link" : "directory", entry.st_uid));
    open_to_all = (directory.st_mode & S_IWOTH) != 0;
    if (end == std::string::npos) return;
  }
}

bool is_directory(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

// Of a directory that exists.
void refuse_led_elsewhere(const std::string& asked, const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) refuse(asked, errno);
  if (S_ISLNK(found.st_mode) && !is_ours(found))
    refuse(asked, fmt::format("it is a symbolic link that belongs to another user (id {})", found.st_uid));
  refuse_planted(asked, path);
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (!real) refuse(asked, errno);
  refuse_planted(asked, real.get());
}

}  // namespace

void prepare_scratch_directory(const std::string& path) {
  if (path.empty()) refuse("''", "the path is empty");
  const std::string trimmed = without_slashes_behind(path);
  // Make each component that is missing.
  for (size_t end = trimmed.find('/', 1);; end = trimmed.find('/', end + 1)) {
    const std::string prefix = trimmed.substr(0, end);
    const int cause = io::make_private_directory(prefix);
    if (cause != 0 && !is_directory(prefix)) refuse_component(path, prefix, cause);
    if (end == std::string::npos) break;
  }
  refuse_led_elsewhere(path, trimmed);
  if (access(trimmed.c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void try_scratch_directory(const std::string& path) {
  if (path.empty()) refuse("''", "the path is empty");
  const std::string trimmed = without_slashes_behind(path);
  std::string there = trimmed.front() == '/' ? "/" : ".";  // as much of the path as there is
  std::string missing;
  for (size_t end = trimmed.find('/', 1);; end = trimmed.find('/', end + 1)) {
    const std::string prefix = trimmed.substr(0, end);
    struct stat found {};
    const int cause = lstat(prefix.c_str(), &found) == 0 ? 0 : errno;
    if (cause == ENOENT) {
      missing = prefix;
      break;
    }
    if (!is_directory(prefix)) refuse_component(path, prefix, cause);
    there = prefix;
    if (end == std::string::npos) break;
  }
  refuse_led_elsewhere(path, there);
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    const std::string cause = errno_text(errno);
    refuse(path, missing.empty() ? cause : fmt::format("can't make {}: {}", missing, cause));
  }
  // Of /proc and its like only a trial says that nothing can be made there.
  try {
    io::file::open(there, io::open_mode::scratch, {});
  } catch (const error& problem) {
    throw error(problem.kind(), fmt::format("can't use the scratch directory {}: {}", path, problem.what()), hint);
  }
}

}  // namespace flowrun::block
