#include "runner/temporary_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"

namespace flowrun::runner {

namespace {

constexpr std::string_view name_start = "flowrun-tests.";

std::string place() {
  const char* below = std::getenv("TMPDIR");
  return below != nullptr && *below == '/' ? below : "/tmp";
}

// -1: it is none. Links are not followed.
int open_directory(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool lock(int descriptor) { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

// Whether the open directory still has its name: another process may have removed it before it was locked.
bool is_there(int descriptor, const std::string& path) {
  struct stat held {
  }, there{};
  return ::fstat(descriptor, &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

bool is_ours(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && found.st_uid == ::geteuid();
}

void remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

temporary_directory::temporary_directory() {
  // Until it is locked, a directory looks abandoned. One that another process took for that is left to it. Where there
  // are no locks, none is taken for abandoned either.
  for (int attempt = 0; attempt < 100; ++attempt) {
    path_ = fmt::format("{}/{}XXXXXX", place(), name_start);
    if (::mkdtemp(path_.data()) == nullptr) break;
    lock_ = open_directory(path_);
    if (lock_ < 0) continue;
    if ((lock(lock_) || errno != EWOULDBLOCK) && is_there(lock_, path_)) return;
    ::close(lock_);
  }
  throw error(error_kind::output, "can't make the directory " + path_ + ": " + errno_text(errno),
              "set TMPDIR to a directory that is writable");
}

temporary_directory::~temporary_directory() {
  remove(path_);
  ::close(lock_);
}

void remove_abandoned_directories() {
  std::error_code problem;
  for (std::filesystem::directory_iterator at(place(), problem), end; !problem && at != end; at.increment(problem)) {
    if (!at->path().filename().string().starts_with(name_start)) continue;
    const std::string path = at->path().string();
    const int descriptor = open_directory(path);
    if (descriptor < 0) continue;
    if (is_ours(descriptor) && lock(descriptor) && is_there(descriptor, path)) remove(path);
    ::close(descriptor);
  }
}

}  // namespace flowrun::runner
