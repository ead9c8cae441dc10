// The calls on files, in the place of the C library's. What isn't stopped goes to the kernel directly.
#include <fcntl.h>
#include <stdarg.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>  // RENAME_EXCHANGE
#include <cstring>

#include "tests/torture/interposed/damage.h"
#include "tests/torture/interposed/journal.h"
#include "tests/torture/interposed/own_files.h"
#include "tests/torture/interposed/rules.h"

namespace interposed {

namespace {

int result(long value) { return static_cast<int>(value); }

bool is_jobs(int descriptor) {
  const owner found = owner_of(descriptor);
  return found == owner::job || found == owner::scratch;
}

fault next_read(int descriptor) {
  if (!is_jobs(descriptor)) return {};
  const fault found = next(call::read);
  if (owner_of(descriptor) != owner::scratch) return found;
  const fault damaged = next(call::scratch_read);
  return found ? found : damaged;
}

fault next_of(call kind, int descriptor) { return is_jobs(descriptor) ? next(kind) : fault{}; }
fault next_of(call kind, const char* path) { return is_own(path) ? next(kind) : fault{}; }

// A short read leaves the rest of the buffer undefined; here it really differs.
ssize_t shortened_read(void* data, ssize_t got) {
  if (got < 2) return got;
  const ssize_t half = got / 2;
  std::memset(static_cast<char*>(data) + half, 0x5a, static_cast<size_t>(got - half));
  return half;
}

// Half of what was asked for is written, and not more. A direct descriptor would refuse an odd length.
ssize_t shortened_write(int descriptor, const void* data, size_t length, long offset) {
  if (length < 2) return syscall(SYS_pwrite64, descriptor, data, length, offset);
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  const long plain = syscall(SYS_openat, AT_FDCWD, link.data(), O_WRONLY | O_CLOEXEC, 0);
  if (plain < 0) return syscall(SYS_pwrite64, descriptor, data, length, offset);
  const long put = syscall(SYS_pwrite64, plain, data, length / 2, offset);
  (void)syscall(SYS_close, plain);
  return put;
}

ssize_t end_read(const fault& found, int descriptor, long offset, void* data, size_t length, ssize_t got) {
  after(found);
  if (found.what == effect::shorten) return shortened_read(data, got);
  if (got == static_cast<ssize_t>(length)) damage(found, descriptor, static_cast<uint64_t>(offset), data, length);
  return got;
}

int open_file(int directory, const char* path, int flags, mode_t mode) {
  const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const full_path whole = path_in(directory, path);
  const fault found = next_of(unnamed ? call::open_unnamed : call::open, whole.data());
  if (fails(found)) return -1;
  const int made = result(syscall(SYS_openat, directory, path, flags, mode));
  if (made >= 0) {
    forget(made);
    if ((flags & O_CREAT) != 0) journal::bound(whole.data());
  }
  after(found);
  return made;
}

mode_t mode_of(int flags, va_list& more) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

}  // namespace

}  // namespace interposed

using namespace interposed;  // NOLINT: the functions below have the names of the C library

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_file(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_file(directory, path, flags, mode);
}

int close(int descriptor) {
  forget(descriptor);
  return result(syscall(SYS_close, descriptor));
}

ssize_t read(int descriptor, void* data, size_t length) {
  const fault found = next_read(descriptor);
  if (fails(found)) return -1;
  const ssize_t got = syscall(SYS_read, descriptor, data, length);
  // What is not handed on must be there for the next read. A pipe can't do that, so it gives all.
  if (found.what == effect::shorten && lseek(descriptor, 0, SEEK_CUR) < 0) return after(found), got;
  const ssize_t told = end_read(found, descriptor, 0, data, length, got);
  if (told < got) (void)lseek(descriptor, told - got, SEEK_CUR);
  return told;
}

ssize_t pread(int descriptor, void* data, size_t length, off_t offset) {
  const fault found = next_read(descriptor);
  if (fails(found)) return -1;
  return end_read(found, descriptor, offset, data, length, syscall(SYS_pread64, descriptor, data, length, offset));
}

ssize_t preadv2(int descriptor, const iovec* pieces, int count, off_t offset, int flags) {
  const fault found = next_read(descriptor);
  if (fails(found)) return -1;
  const long high = 0;  // of the offset, where a long has 32 bits
  const ssize_t got = syscall(SYS_preadv2, descriptor, pieces, static_cast<long>(count), offset, high, flags);
  return count == 1 ? end_read(found, descriptor, offset, pieces->iov_base, pieces->iov_len, got) : got;
}

ssize_t write(int descriptor, const void* data, size_t length) {
  const fault found = next_of(call::write, descriptor);
  if (fails(found)) return -1;
  const size_t asked = found.what == effect::shorten && length > 1 ? length / 2 : length;
  const ssize_t put = syscall(SYS_write, descriptor, data, asked);
  journal::changed(descriptor);
  after(found);
  return put;
}

ssize_t pwrite(int descriptor, const void* data, size_t length, off_t offset) {
  const fault found = next_of(call::write, descriptor);
  if (fails(found)) return -1;
  if (owner_of(descriptor) == owner::scratch) remember_before_write(descriptor, static_cast<uint64_t>(offset), length);
  const ssize_t put = found.what == effect::shorten ? shortened_write(descriptor, data, length, offset)
                                                    : syscall(SYS_pwrite64, descriptor, data, length, offset);
  journal::changed(descriptor);
  after(found);
  return put;
}

// Holes are punched as an economy only; that can't fail in a way that matters.
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  const fault found = mode == 0 ? next_of(call::fallocate, descriptor) : fault{};
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_fallocate, descriptor, mode, offset, length));
  journal::changed(descriptor);
  after(found);
  return done;
}

int ftruncate(int descriptor, off_t length) {
  const fault found = next_of(call::ftruncate, descriptor);
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_ftruncate, descriptor, length));
  journal::changed(descriptor);
  after(found);
  return done;
}

int fsync(int descriptor) {
  const fault found = next_of(call::fsync, descriptor);
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_fsync, descriptor));
  if (done == 0) journal::synced(descriptor);
  after(found);
  return done;
}

int fdatasync(int descriptor) { return fsync(descriptor); }

int sync_file_range(int descriptor, off_t offset, off_t length, unsigned flags) {
  const fault found = next_of(call::sync_range, descriptor);
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_sync_file_range, descriptor, offset, length, flags));
  after(found);
  return done;
}

int renameat2(int old_directory, const char* old_path, int new_directory, const char* new_path, unsigned flags) {
  const full_path from = path_in(old_directory, old_path);
  const full_path to = path_in(new_directory, new_path);
  const fault found = next_of(call::rename, to.data());
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_renameat2, old_directory, old_path, new_directory, new_path, flags));
  if (done == 0) journal::renamed(from.data(), to.data(), (flags & RENAME_EXCHANGE) != 0);
  after(found);
  return done;
}

int renameat(int old_directory, const char* old_path, int new_directory, const char* new_path) {
  return renameat2(old_directory, old_path, new_directory, new_path, 0);
}

int rename(const char* from, const char* to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int old_directory, const char* old_path, int new_directory, const char* new_path, int flags) {
  const full_path path = path_in(new_directory, new_path);
  const fault found = next_of(call::link, path.data());
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_linkat, old_directory, old_path, new_directory, new_path, flags));
  if (done == 0) journal::bound(path.data());
  after(found);
  return done;
}

int link(const char* old_path, const char* new_path) { return linkat(AT_FDCWD, old_path, AT_FDCWD, new_path, 0); }

int unlinkat(int directory, const char* name, int flags) {
  const full_path path = path_in(directory, name);
  const fault found = next_of(call::unlink, path.data());
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_unlinkat, directory, name, flags));
  if (done == 0) journal::unbound(path.data());
  after(found);
  return done;
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }

int mkdir(const char* path, mode_t mode) {
  const fault found = next_of(call::mkdir, path);
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
  if (done == 0) journal::made_directory(path);
  after(found);
  return done;
}

int eventfd(unsigned value, int flags) noexcept {
  const fault found = next(call::descriptor);
  if (fails(found)) return -1;
  const int made = result(syscall(SYS_eventfd2, value, flags));
  forget(made);
  return made;
}

int pipe2(int* ends, int flags) noexcept {
  const fault found = next(call::descriptor);
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_pipe2, ends, flags));
  forget(ends[0]);
  forget(ends[1]);
  return done;
}

int fcntl(int descriptor, int what, ...) {
  va_list more;
  va_start(more, what);
  const long value = va_arg(more, long);
  va_end(more);
  const bool copies = what == F_DUPFD || what == F_DUPFD_CLOEXEC;
  const fault found = copies ? next(call::descriptor) : fault{};
  if (fails(found)) return -1;
  const int done = result(syscall(SYS_fcntl, descriptor, what, value));
  if (copies) forget(done);
  return done;
}

}  // extern "C"
