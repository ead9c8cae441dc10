#include "tests/torture/interposed/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tests/torture/interposed/own_files.h"

namespace interposed::journal {

namespace {

using text = std::array<char, 9000>;

const char* folder() {
  static const char* const given = std::getenv("FAILING_JOURNAL");
  return given;
}

// One write for each line: O_APPEND keeps lines of several threads apart.
__attribute__((format(printf, 1, 2))) void note(const char* format, ...) {
  static const long log = [] {
    text path{};
    std::snprintf(path.data(), path.size(), "%s/log", folder());
    return syscall(SYS_openat, AT_FDCWD, path.data(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  }();
  text line{};
  va_list values;
  va_start(values, format);
  const int length = std::vsnprintf(line.data(), line.size(), format, values);
  va_end(values);
  (void)syscall(SYS_write, log, line.data(), static_cast<size_t>(length));
}

unsigned long long inode_of(int descriptor) {
  struct stat info {};
  return fstat(descriptor, &info) == 0 ? info.st_ino : 0;
}

// Through a description of its own: the one that was synced may be direct or for writing only.
void copy_content(int descriptor, const char* path) {
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const long from = syscall(SYS_openat, AT_FDCWD, link.data(), O_RDONLY | O_CLOEXEC, 0);
  const long to = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  static thread_local std::array<char, 65536> piece;
  for (long got = 0; (got = syscall(SYS_read, from, piece.data(), piece.size())) > 0;)
    (void)syscall(SYS_write, to, piece.data(), static_cast<size_t>(got));
  (void)syscall(SYS_close, from);
  (void)syscall(SYS_close, to);
}

}  // namespace

bool is_kept() { return folder() != nullptr; }

void changed(int descriptor) {
  if (is_kept() && owner_of(descriptor) == owner::job) note("dirty %llu\n", inode_of(descriptor));
}

void synced(int descriptor) {
  if (!is_kept() || owner_of(descriptor) != owner::job) return;
  struct stat info {};
  if (fstat(descriptor, &info) != 0) return;
  text path{};
  if (S_ISDIR(info.st_mode)) {
    std::array<char, 64> link{};
    std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
    if (syscall(SYS_readlinkat, AT_FDCWD, link.data(), path.data(), path.size() - 1) > 0)
      note("names %s\n", path.data());
    return;
  }
  static std::atomic<unsigned> num_copies{0};
  const unsigned copy = num_copies++;
  std::snprintf(path.data(), path.size(), "%s/copy-%u", folder(), copy);
  copy_content(descriptor, path.data());
  note("synced %llu %u\n", static_cast<unsigned long long>(info.st_ino), copy);
}

void bound(const char* path) {
  struct stat info {};
  if (is_kept() && is_own(path) && lstat(path, &info) == 0)
    note("bound %llu %s\n", static_cast<unsigned long long>(info.st_ino), path);
}

void renamed(const char* from, const char* to, bool exchanged) {
  if (is_kept() && is_own(to)) note("%s %s %s\n", exchanged ? "exchanged" : "renamed", from, to);
}

void unbound(const char* path) {
  if (is_kept() && is_own(path)) note("unbound %s\n", path);
}

void made_directory(const char* path) {
  if (is_kept() && is_own(path)) note("directory %s\n", path);
}

}  // namespace interposed::journal
