#include "engine/io/output_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"
#include "engine/io/open_descriptor.h"

namespace flowrun::io {

namespace {

constexpr int max_siblings = 16;  // of one output: as many jobs may write it at a time

// Another process may hold the lock for a moment, to see whether it is free: waits for it. Where the file system has no
// locks, left-over files are never removed.
void lock(int descriptor) {
  while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
}

bool has_name(int descriptor) {
  struct stat info {};
  return fstat(descriptor, &info) == 0 && info.st_nlink > 0;
}

// Removes a temporary file whose process is gone.
void remove_if_left(const std::string& sibling) {
  const int descriptor = ::open(sibling.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat held {};
  struct stat named {};
  if (fstat(descriptor, &held) == 0 && S_ISREG(held.st_mode) && flock(descriptor, LOCK_EX | LOCK_NB) == 0 &&
      lstat(sibling.c_str(), &named) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino)
    unlink(sibling.c_str());
  close(descriptor);
}

std::string descriptor_path(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

std::string hint_for(int cause) {
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

}  // namespace

bool output_target::is_stream(const std::string& path) {
  if (descriptor_named(path) >= 0) return true;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  if (S_ISDIR(info.st_mode))
    throw error(error_kind::output, fmt::format("can't write {}: it is a directory", path), "name a file in it");
  return !S_ISREG(info.st_mode);
}

output_target::new_directories::~new_directories() {
  if (kept_) return;
  for (size_t i = made_.size(); i > 0; --i) rmdir(made_[i - 1].c_str());  // refuses when something lies in it
}

int output_target::new_directories::make(const std::string& directory) {
  std::error_code ignored;
  if (std::filesystem::is_directory(directory, ignored)) return 0;
  const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
  if (!parent.empty() && parent != directory)
    if (const int cause = make(parent.string()); cause != 0) return cause;
  if (mkdir(directory.c_str(), 0777) == 0) {
    made_.push_back(directory);
    return 0;
  }
  const int cause = errno;
  if (cause != EEXIST) return cause;
  return std::filesystem::is_directory(directory, ignored) ? 0 : ENOTDIR;
}

// A link is kept, and what it names is made or replaced.
output_target::output_target(const std::string& path, bool direct, const std::string& kept)
    : path_(followed_output(path)) {
  const std::filesystem::path full(path_);
  if (full.filename().empty() || full.filename() == "." || full.filename() == "..")
    throw error(error_kind::output, fmt::format("can't write {}: it names a directory", path), "name a file in it");
  directory_ = full.has_parent_path() ? full.parent_path().string() : ".";
  name_ = full.filename().string();
  make_directory();
  remove_leftovers();
  try {
    open_directory();
    if (kept.empty())
      open(direct);
    else
      open_kept(kept, direct);
  } catch (...) {
    if (descriptor_ >= 0) close(descriptor_);  // no destructor will
    throw;
  }
  take_over_permissions();
}

output_target::~output_target() {
  if (!temporary_.empty() && !is_kept_) unlinkat(descriptor_, temporary_.c_str(), 0);
  close(descriptor_);
}

void output_target::fail(const char* what, int cause) const {
  throw error(error_kind::output, fmt::format("can't {} {}: {}", what, path_, errno_text(cause)), hint_for(cause));
}

void output_target::make_directory() {
  if (const int cause = made_.make(directory_); cause != 0)
    throw error(error_kind::output, fmt::format("can't create the directory {}: {}", directory_, errno_text(cause)),
                hint_for(cause));
}

void output_target::open(bool direct) {
  bool is_direct = direct;
  int descriptor = open_descriptor(directory_, O_TMPFILE | O_RDWR, 0666, is_direct);
  if (descriptor >= 0) {
    // Without /proc it could never get a name.
    if (access(descriptor_path(descriptor).c_str(), F_OK) == 0) {
      content_ = file::adopt(descriptor, path_, is_direct);
      return;
    }
    close(descriptor);
  } else if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    fail("write", errno);
  }
  open_sibling(direct);
}

void output_target::open_kept(const std::string& kept, bool direct) {
  bool is_direct = direct;
  const int descriptor = open_descriptor(kept, O_RDWR | O_NOFOLLOW, 0, is_direct);
  if (descriptor < 0) fail("go on with what is there of", errno);
  temporary_ = std::filesystem::path(kept).filename().string();
  is_kept_ = true;
  content_ = file::adopt(descriptor, path_, is_direct);
}

// Within the 255 bytes that a name may have, and no two outputs have the same.
std::string output_target::kept_name(const std::string& suffix) const {
  const std::string own =
      name_.size() <= 200 ? name_ : fmt::format("{}-{:016x}", name_.substr(0, 180), std::hash<std::string>()(name_));
  return fmt::format(".{}.{}", own, suffix);
}

// From anywhere.
std::string output_target::path_of(const std::string& name) const {
  return (std::filesystem::absolute(directory_) / name).string();
}

std::string output_target::clear_kept(const std::string& suffix) const {
  const std::string name = kept_name(suffix);
  if (unlinkat(descriptor_, name.c_str(), 0) != 0 && errno != ENOENT) fail("replace what was left of", errno);
  return path_of(name);
}

std::string output_target::keep(const std::string& suffix) {
  if (is_kept_) return path_of(temporary_);
  const std::string path = clear_kept(suffix);
  const std::string name = kept_name(suffix);
  if (temporary_.empty()) {
    if (!link_to(name)) fail("write", EEXIST);
  } else if (renameat(descriptor_, temporary_.c_str(), descriptor_, name.c_str()) != 0) {
    fail("write", errno);
  }
  temporary_ = name;
  is_kept_ = true;
  made_.keep();
  return path;
}

void output_target::open_sibling(bool direct) {
  for (int number = 0; number < max_siblings; ++number) {
    const std::string sibling = directory_ + "/" + sibling_name(number);
    bool is_direct = direct;
    const int descriptor = open_descriptor(sibling, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666, is_direct);
    if (descriptor < 0) {
      if (errno == EEXIST) continue;
      break;
    }
    lock(descriptor);
    if (!has_name(descriptor)) {  // another process took it for a leftover before it was locked
      close(descriptor);
      continue;
    }
    temporary_ = sibling_name(number);
    content_ = file::adopt(descriptor, path_, is_direct);
    return;
  }
  fail("write", errno);
}

// Within the 255 bytes that a name may have.
std::string output_target::sibling_name(int number) const {
  return fmt::format(".{}.flowrun-{}.tmp", name_.substr(0, 220), number);
}

void output_target::remove_leftovers() const {
  for (int number = 0; number < max_siblings; ++number) remove_if_left(directory_ + "/" + sibling_name(number));
}

// The owner, group and mode of an existing file outlive it: a private result stays private, and what root writes stays
// its user's. Others than root may at most keep the group.
void output_target::take_over_permissions() const {
  struct stat before {};
  struct stat now {};
  const int descriptor = content_->descriptor();
  if (stat(path_.c_str(), &before) != 0 || fstat(descriptor, &now) != 0) return;
  bool same = before.st_uid == now.st_uid && before.st_gid == now.st_gid;
  if (!same) same = fchown(descriptor, before.st_uid, before.st_gid) == 0;
  if (!same) (void)!fchown(descriptor, static_cast<uid_t>(-1), before.st_gid);
  // New content never runs with the rights of its owner or group, as when a file is written to: the name may be a hard
  // link that somebody made to a program of root's.
  const mode_t privileges = S_ISUID | ((before.st_mode & S_IXGRP) != 0 ? S_ISGID : 0);
  (void)fchmod(descriptor, before.st_mode & (same ? 07777 & ~privileges : 0777));
}

void output_target::open_directory() {
  descriptor_ = ::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) fail("write", errno);
}

// The directory must still be the one that was opened. Only where it is gone (an abandoned output of another job may
// have taken it away: unnamed files don't count) another one of the same owner will do.
void output_target::look_at_directory() {
  struct stat held {};
  if (fstat(descriptor_, &held) != 0) fail("write", errno);
  const bool gone = held.st_nlink == 0;
  if (gone) {
    make_directory();
    close(std::exchange(descriptor_, -1));
    open_directory();
  }
  struct stat named {};
  struct stat opened {};
  const bool seen = stat(directory_.c_str(), &named) == 0 && fstat(descriptor_, &opened) == 0;
  const bool same = seen && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
  if (!same || (gone && named.st_uid != held.st_uid))
    throw error(error_kind::output,
                fmt::format("can't write {}: its directory is not the one that it was when the job began", path_),
                "somebody moved it meanwhile: write to a directory that only you can change");
}

// Whether something has the name. Throws where it can't be replaced.
bool output_target::look_at_target() const {
  struct statx found {};
  if (statx(descriptor_, name_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_MODE, &found) != 0) {
    if (errno != ENOENT) fail("write", errno);
    return false;
  }
  if (S_ISDIR(found.stx_mode)) fail("replace", EISDIR);
  if ((found.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0) fail("replace", EPERM);
  if ((found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) fail("replace", EBUSY);
  refuse_planted(path_);
  return true;
}

// False when the name is taken.
bool output_target::link_to(const std::string& name) const {
  const std::string source = descriptor_path(content_->descriptor());
  if (linkat(AT_FDCWD, source.c_str(), descriptor_, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) fail("write", errno);
  return false;
}

void output_target::link_sibling() {
  if (!temporary_.empty()) return;
  lock(content_->descriptor());  // before it has a name that another process may find
  for (int number = 0; temporary_.empty(); ++number) {
    if (number == max_siblings) fail("write", EEXIST);
    if (link_to(sibling_name(number))) temporary_ = sibling_name(number);
  }
}

bool output_target::is_ours(const std::string& name) const {
  struct stat named {};
  struct stat held {};
  return fstatat(descriptor_, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         fstat(content_->descriptor(), &held) == 0 && named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

void output_target::sync() { content_->sync(); }

void output_target::prepare() {
  look_at_directory();
  const bool exists = look_at_target();
  if (exists)
    link_sibling();
  else if (faccessat(descriptor_, ".", W_OK | X_OK, AT_EACCESS) != 0)
    fail("write", errno);
  if (!temporary_.empty() && !is_ours(temporary_)) fail("write", ENOENT);
}

// What has the name gets a second one. False where file systems or permissions don't let it.
bool output_target::keep_beside() {
  for (int number = 0; number < max_siblings; ++number) {
    if (linkat(descriptor_, name_.c_str(), descriptor_, sibling_name(number).c_str(), 0) == 0) {
      old_ = sibling_name(number);
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

// The sibling takes the name over.
void output_target::replace(bool keep_old) {
  if (keep_old && renameat2(descriptor_, temporary_.c_str(), descriptor_, name_.c_str(), RENAME_EXCHANGE) == 0) {
    old_ = std::exchange(temporary_, {});
    state_ = state::exchanged;
    return;
  }
  const bool kept = keep_old && (errno == EINVAL || errno == ENOSYS) && keep_beside();
  if (renameat(descriptor_, temporary_.c_str(), descriptor_, name_.c_str()) != 0) {
    const int cause = errno;
    if (kept) unlinkat(descriptor_, std::exchange(old_, {}).c_str(), 0);
    fail("replace", cause);
  }
  temporary_.clear();
  state_ = kept ? state::set_aside : state::replaced;
}

void output_target::place(bool keep_old) {
  const bool exists = look_at_target();
  if (!exists && temporary_.empty() && link_to(name_)) {
    state_ = state::made;
    return;
  }
  link_sibling();
  if (exists || !take_free_name()) replace(keep_old);
}

bool output_target::take_free_name() {
  const bool plain = renameat2(descriptor_, temporary_.c_str(), descriptor_, name_.c_str(), RENAME_NOREPLACE) != 0;
  if (plain && errno != EINVAL && errno != ENOSYS) return false;
  if (plain && renameat(descriptor_, temporary_.c_str(), descriptor_, name_.c_str()) != 0) return false;
  temporary_.clear();
  state_ = state::made;
  return true;
}

bool output_target::undo() noexcept {
  if (state_ == state::as_before) return true;
  if (state_ == state::replaced || !is_ours(name_)) return false;
  if (state_ == state::made && unlinkat(descriptor_, name_.c_str(), 0) != 0) return false;
  if (state_ == state::set_aside && renameat(descriptor_, old_.c_str(), descriptor_, name_.c_str()) != 0) return false;
  if (state_ == state::exchanged) {
    if (renameat2(descriptor_, old_.c_str(), descriptor_, name_.c_str(), RENAME_EXCHANGE) != 0) return false;
    temporary_ = old_;  // ours again
  }
  old_.clear();
  state_ = state::as_before;
  return true;
}

void output_target::settle() noexcept {
  if (!old_.empty()) unlinkat(descriptor_, std::exchange(old_, {}).c_str(), 0);
  made_.keep();
}

void output_target::sync_directory(std::set<std::string>& done) const {
  std::vector<std::string> all{directory_};
  for (const std::string& made : made_.made()) {
    const std::string parent = std::filesystem::path(made).parent_path().string();
    all.push_back(parent.empty() ? "." : parent);
  }
  for (const std::string& name : all) {
    if (!done.insert(name).second) continue;
    const int directory = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) continue;  // one that may be written but not read: its sync is the system's business
    const int cause = fsync(directory) == 0 ? 0 : errno;
    close(directory);
    if (cause != 0 && cause != EINVAL && cause != EROFS)
      throw error(error_kind::io,
                  fmt::format("can't make the name of {} durable (fsync): {}", path_, errno_text(cause)),
                  "check the disk and the system log (dmesg)");
  }
}

void output_target::commit(bool durable) {
  if (durable) sync();
  prepare();
  place(false);
  if (durable) {
    std::set<std::string> done;
    sync_directory(done);
  }
  settle();
}

}  // namespace flowrun::io
