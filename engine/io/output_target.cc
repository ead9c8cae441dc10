#include "engine/io/output_target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

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
constexpr int max_tries = 200;    // for one of their names

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

}  // namespace

bool output_target::is_stream(const std::string& path) {
  if (descriptor_named(path) >= 0) return true;
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return false;
  if (S_ISDIR(info.st_mode))
    throw error(error_kind::output, fmt::format("can't write {}: it is a directory", path),
                "name a file in it; if a run with --cluster has written it, give another path, or remove it");
  return !S_ISREG(info.st_mode);
}

// A link is kept, and what it names is made or replaced.
output_target::output_target(const std::string& path, bool direct, const std::string& kept, what_is_there there)
    : name_(there == what_is_there::refused ? path : followed_output(path)), there_(there) {
  name_.make_directory();
  remove_leftovers();
  name_.open_directory();
  if (kept.empty())
    open(direct);
  else
    open_kept(kept, direct);
  name_.take_over_permissions(content_->descriptor());
  name_.remember_content(content_->descriptor());
}

output_target::~output_target() {
  if (!temporary_.empty() && !is_kept_) unlinkat(name_.directory_descriptor(), temporary_.c_str(), 0);
}

void output_target::open(bool direct) {
  bool is_direct = direct;
  int descriptor = open_descriptor(name_.directory(), O_TMPFILE | O_RDWR, 0666, is_direct);
  if (descriptor >= 0) {
    // Without /proc it could never get a name.
    if (access(descriptor_path(descriptor).c_str(), F_OK) == 0) {
      content_ = file::adopt(descriptor, name_.path(), is_direct);
      return;
    }
    close(descriptor);
  } else if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
    name_.fail("write", errno);
  }
  open_sibling(direct);
}

void output_target::open_kept(const std::string& kept, bool direct) {
  bool is_direct = direct;
  const int descriptor = open_descriptor(kept, O_RDWR | O_NOFOLLOW, 0, is_direct);
  if (descriptor < 0) name_.fail("go on with what is there of", errno);
  temporary_ = std::filesystem::path(kept).filename().string();
  is_kept_ = true;
  content_ = file::adopt(descriptor, name_.path(), is_direct);
}

// Within the 255 bytes that a name may have, and no two outputs have the same.
std::string output_target::kept_name(const std::string& suffix) const {
  const std::string name(name_.name());
  const std::string own =
      name.size() <= 200 ? name : fmt::format("{}-{:016x}", name.substr(0, 180), std::hash<std::string>()(name));
  return fmt::format(".{}.{}", own, suffix);
}

// From anywhere, and also when a link on the way names another directory by then.
std::string output_target::path_of(const std::string& name) const {
  std::error_code problem;
  std::filesystem::path directory = std::filesystem::canonical(name_.directory(), problem);
  if (problem) directory = std::filesystem::absolute(name_.directory());
  return (directory / name).string();
}

std::string output_target::clear_kept(const std::string& suffix) const {
  const std::string name = kept_name(suffix);
  if (unlinkat(name_.directory_descriptor(), name.c_str(), 0) != 0 && errno != ENOENT)
    throw error(error_kind::output,
                fmt::format("can't remove {}, the name of what a run with --resume leaves of {}: {}", path_of(name),
                            name_.path(), errno_text(errno)),
                "take it away");
  return path_of(name);
}

std::string output_target::keep(const std::string& suffix) {
  if (is_kept_) return path_of(temporary_);
  const std::string path = clear_kept(suffix);
  std::string name = kept_name(suffix);
  if (temporary_.empty()) {
    if (!link_to(name)) name_.fail("write", EEXIST);
  } else if (renameat(name_.directory_descriptor(), temporary_.c_str(), name_.directory_descriptor(), name.c_str()) !=
             0) {
    name_.fail("write", errno);
  }
  temporary_ = std::move(name);
  is_kept_ = true;
  name_.keep_directories();
  return path;
}

void output_target::open_sibling(bool direct) {
  int cause = EEXIST;
  int number = 0;
  for (int tries = 0; number < max_siblings && tries < max_tries; ++tries) {
    std::string name = sibling_name(number);
    const std::string sibling = name_.directory() + "/" + name;
    bool is_direct = direct;
    const int descriptor = open_descriptor(sibling, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0666, is_direct);
    if (descriptor < 0) {
      cause = errno;
      if (cause != EEXIST) break;
      ++number;
      continue;
    }
    lock(descriptor);
    if (!has_name(descriptor)) {  // another process took it for a leftover before it was locked: it is made again
      close(descriptor);
      continue;
    }
    temporary_ = std::move(name);
    try {
      content_ = file::adopt(descriptor, name_.path(), is_direct);
    } catch (...) {  // without memory
      unlink(sibling.c_str());
      throw;
    }
    return;
  }
  name_.fail("write", cause);
}

// Within the 255 bytes that a name may have. Long names that begin alike have siblings of their own.
std::string output_target::sibling_name(int number) const {
  constexpr size_t longest = 220, digits = 17;
  const std::string_view name = name_.name();
  const std::string own = name.size() <= longest ? std::string(name)
                                                 : fmt::format("{}-{:016x}", name.substr(0, longest - digits),
                                                               XXH3_64bits(name.data(), name.size()));
  return fmt::format(".{}.flowrun-{}.tmp", own, number);
}

void output_target::remove_leftovers() const {
  for (int number = 0; number < max_siblings; ++number) remove_if_left(name_.directory() + "/" + sibling_name(number));
}

// False when the name is taken.
bool output_target::link_to(const std::string& name) const {
  const std::string source = descriptor_path(content_->descriptor());
  if (linkat(AT_FDCWD, source.c_str(), name_.directory_descriptor(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) name_.fail("write", errno);
  return false;
}

void output_target::link_sibling() {
  if (!temporary_.empty()) return;
  lock(content_->descriptor());  // before it has a name that another process may find
  for (int number = 0; temporary_.empty(); ++number) {
    if (number == max_siblings) name_.fail("write", EEXIST);
    std::string name = sibling_name(number);
    if (link_to(name)) temporary_ = std::move(name);  // nothing may fail before it is known what is to be removed
  }
}

void output_target::sync() { content_->sync(); }

void output_target::prepare() {
  name_.look_at_directory();
  const int directory = name_.directory_descriptor();
  const bool exists = name_.exists();
  if (exists && there_ == what_is_there::refused) name_.refuse_existing();
  if (exists)
    link_sibling();
  else if (faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0)
    name_.fail("write", errno);
  if (!temporary_.empty() && !name_.is_content(directory, temporary_.c_str())) name_.fail("write", ENOENT);
}

void output_target::place(bool keep_old) {
  const bool exists = name_.exists();
  if (!exists && temporary_.empty() && link_to(std::string(name_.name()))) return name_.note_made();
  if (there_ == what_is_there::refused) {
    if (temporary_.empty()) name_.refuse_existing();  // it came just now
    return name_.take_new(name_.directory_descriptor(), temporary_);
  }
  link_sibling();
  name_.take(name_.directory_descriptor(), temporary_, exists, keep_old,
             [this](int number) { return sibling_name(number); });
}

bool output_target::undo() noexcept { return name_.undo(name_.directory_descriptor(), temporary_); }

void output_target::settle() noexcept { name_.settle(name_.directory_descriptor()); }

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
