#include "engine/io/output_name.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/followed_path.h"

namespace flowrun::io {

namespace {

constexpr int most_spare_names = 16;

}  // namespace

std::string hint_for_output(int cause) {
  switch (cause) {
    case ENOSPC:
    case EDQUOT: return "free space on that disk, or write to another one";
    case EACCES:
    case EPERM: return "check the permissions of the directory, or write elsewhere";
    case EROFS: return "the file system is mounted read-only: write elsewhere";
    case EMFILE:
    case ENFILE: return "raise the limit of open files (ulimit -n)";
    default: return "check the output's path";
  }
}

new_directories::~new_directories() {
  if (kept_) return;
  for (size_t i = made_.size(); i > 0; --i) rmdir(made_[i - 1].c_str());  // refuses when something lies in it
}

int new_directories::make(const std::string& directory) {
  std::error_code ignored;
  if (std::filesystem::is_directory(directory, ignored)) return 0;
  const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
  if (!parent.empty() && parent != directory)
    if (const int cause = make(parent.string()); cause != 0) return cause;
  made_.push_back(directory);  // before it is there: without memory nothing is made that would then stay
  if (mkdir(directory.c_str(), 0777) == 0) return 0;
  const int cause = errno;
  made_.pop_back();
  if (cause != EEXIST) return cause;
  return std::filesystem::is_directory(directory, ignored) ? 0 : ENOTDIR;
}

std::vector<std::string> new_directories::parents() const {
  std::vector<std::string> out;
  for (const std::string& made : made_) {
    const std::string parent = std::filesystem::path(made).parent_path().string();
    out.push_back(parent.empty() ? "." : parent);
  }
  return out;
}

void sync_directory(const std::string& directory, const std::string& path, std::set<std::string>& done) {
  if (!done.insert(directory).second) return;
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // one that may be written but not read: its sync is the system's business
  const int cause = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  if (cause != 0 && cause != EINVAL && cause != EROFS)
    throw error(error_kind::io, fmt::format("can't make the name of {} durable (fsync): {}", path, errno_text(cause)),
                "check the disk and the system log (dmesg)");
}

output_name::output_name(std::string path) : path_(std::move(path)) {
  const std::filesystem::path full(path_);
  if (full.filename().empty() || full.filename() == "." || full.filename() == "..")
    throw error(error_kind::output, fmt::format("can't write {}: it names a directory", path_), "name a file in it");
  name_at_ = path_.size() - full.filename().string().size();
}

output_name::~output_name() { close_directory(); }

std::string output_name::directory() const {
  const std::filesystem::path full(path_);
  return full.has_parent_path() ? full.parent_path().string() : ".";
}

std::string_view output_name::name() const { return std::string_view(path_).substr(name_at_); }

void output_name::fail(const char* what, int cause) const {
  throw error(error_kind::output, fmt::format("can't {} {}: {}", what, path_, errno_text(cause)),
              hint_for_output(cause));
}

void output_name::make_directory() {
  if (const int cause = made_.make(directory()); cause != 0)
    throw error(error_kind::output, fmt::format("can't create the directory {}: {}", directory(), errno_text(cause)),
                hint_for_output(cause));
}

bool output_name::try_open_directory() noexcept {
  char text[PATH_MAX] = ".";
  if (name_at_ >= sizeof(text)) {
    errno = ENAMETOOLONG;
    return false;
  }
  if (name_at_ > 0) text[path_.copy(text, name_at_)] = '\0';
  descriptor_ = ::open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
  return descriptor_ >= 0;
}

void output_name::open_directory() {
  if (!try_open_directory()) fail("write", errno);
}

void output_name::close_directory() noexcept {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

void output_name::look_at_directory() {
  struct stat held {};
  if (fstat(descriptor_, &held) != 0) fail("write", errno);
  const bool gone = held.st_nlink == 0;
  if (gone) {
    make_directory();
    close_directory();
    open_directory();
  }
  struct stat named {};
  struct stat opened {};
  const bool seen = stat(directory().c_str(), &named) == 0 && fstat(descriptor_, &opened) == 0;
  const bool same = seen && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
  if (!same || (gone && named.st_uid != held.st_uid))
    throw error(error_kind::output,
                fmt::format("can't write {}: its directory is not the one that it was when the job began", path_),
                "somebody moved it meanwhile: write to a directory that only you can change");
}

bool output_name::exists() const {
  struct statx found {};
  if (statx(descriptor_, name_text(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MODE, &found) != 0) {
    if (errno != ENOENT) fail("write", errno);
    return false;
  }
  if (S_ISDIR(found.stx_mode)) fail("replace", EISDIR);
  if ((found.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0) fail("replace", EPERM);
  if ((found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) fail("replace", EBUSY);
  refuse_planted(path_);
  return true;
}

void output_name::take_over_permissions(int content) const {
  struct stat before {};
  struct stat now {};
  if (stat(path_.c_str(), &before) != 0 || fstat(content, &now) != 0) return;
  bool same = before.st_uid == now.st_uid && before.st_gid == now.st_gid;
  if (!same) same = fchown(content, before.st_uid, before.st_gid) == 0;
  if (!same) (void)!fchown(content, static_cast<uid_t>(-1), before.st_gid);
  // New content never runs with the rights of its owner or group, as when a file is written to: the name may be a hard
  // link that somebody made to a program of root's.
  const mode_t privileges = S_ISUID | ((before.st_mode & S_IXGRP) != 0 ? S_ISGID : 0);
  (void)fchmod(content, before.st_mode & (same ? 07777 & ~privileges : 0777));
}

void output_name::remember_content(int content) {
  struct stat held {};
  if (fstat(content, &held) != 0) fail("write", errno);
  device_ = held.st_dev;
  number_ = held.st_ino;
}

bool output_name::is_content(int directory, const char* name) const noexcept {
  struct stat named {};
  return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == device_ &&
         named.st_ino == number_;
}

// What has the name gets a second one. False where file systems or permissions don't let it.
bool output_name::set_aside(int directory, const spare_names& spare) {
  for (int number = 0; number < most_spare_names; ++number) {
    const std::string other = spare(number);
    if (linkat(descriptor_, name_text(), directory, other.c_str(), 0) == 0) {
      old_ = other;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

void output_name::replace(int directory, std::string& hidden, bool keep_old, const spare_names& spare) {
  const char* const name = name_text();
  if (keep_old && renameat2(directory, hidden.c_str(), descriptor_, name, RENAME_EXCHANGE) == 0) {
    old_ = std::exchange(hidden, {});
    state_ = state::exchanged;
    return;
  }
  const bool kept = keep_old && (errno == EINVAL || errno == ENOSYS) && set_aside(directory, spare);
  if (renameat(directory, hidden.c_str(), descriptor_, name) != 0) {
    const int cause = errno;
    if (kept) unlinkat(directory, std::exchange(old_, {}).c_str(), 0);
    fail("replace", cause);
  }
  hidden.clear();
  state_ = kept ? state::set_aside : state::replaced;
}

bool output_name::take_free(int directory, std::string& hidden) {
  const char* const name = name_text();
  const bool plain = renameat2(directory, hidden.c_str(), descriptor_, name, RENAME_NOREPLACE) != 0;
  if (plain && errno != EINVAL && errno != ENOSYS) return false;
  if (plain && renameat(directory, hidden.c_str(), descriptor_, name) != 0) return false;
  hidden.clear();
  state_ = state::made;
  return true;
}

void output_name::take(int directory, std::string& hidden, bool exists, bool keep_old, const spare_names& spare) {
  if (exists || !take_free(directory, hidden)) replace(directory, hidden, keep_old, spare);
}

void output_name::refuse_existing() const {
  throw error(error_kind::output, fmt::format("{} is there already", path_), "give another name, or remove it");
}

void output_name::take_new(int directory, std::string& hidden) {
  const char* const name = name_text();
  int cause = 0;
  if (renameat2(directory, hidden.c_str(), descriptor_, name, RENAME_NOREPLACE) != 0) cause = errno;
  // File systems that know no such renaming have hard links, which replace nothing either.
  if (cause == EINVAL || cause == ENOSYS) {
    cause = linkat(directory, hidden.c_str(), descriptor_, name, 0) == 0 ? 0 : errno;
    if (cause == 0) unlinkat(directory, hidden.c_str(), 0);
  }
  if (cause == EEXIST) refuse_existing();
  if (cause != 0) fail("write", cause);
  hidden.clear();
  state_ = state::made;
}

bool output_name::undo(int directory, std::string& hidden) noexcept {
  if (state_ == state::as_before) return true;
  const char* const name = name_text();
  if (state_ == state::replaced || !is_content(descriptor_, name)) return false;
  if (state_ == state::made && unlinkat(descriptor_, name, 0) != 0) return false;
  if (state_ == state::set_aside && renameat(directory, old_.c_str(), descriptor_, name) != 0) return false;
  if (state_ == state::exchanged) {
    if (renameat2(directory, old_.c_str(), descriptor_, name, RENAME_EXCHANGE) != 0) return false;
    hidden = std::move(old_);  // the content again
  }
  old_.clear();
  state_ = state::as_before;
  return true;
}

void output_name::settle(int directory) noexcept {
  if (!old_.empty()) unlinkat(directory, std::exchange(old_, {}).c_str(), 0);
  made_.keep();
}

void output_name::sync_directories(std::set<std::string>& done) const {
  sync_directory(directory(), path_, done);
  for (const std::string& parent : made_.parents()) sync_directory(parent, path_, done);
}

}  // namespace flowrun::io
