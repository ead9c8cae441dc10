#include "engine/io/open_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/buffer.h"
#include "engine/base/interrupted_call.h"
#include "engine/io/descriptor_stream.h"

namespace flowrun::io {

namespace {

// File systems may take O_DIRECT at open and ask for more than our alignment at the transfer.
bool alignment_suffices([[maybe_unused]] int descriptor) {
#ifdef STATX_DIOALIGN
  struct statx info {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) == 0 && (info.stx_mask & STATX_DIOALIGN) != 0)
    return info.stx_dio_offset_align != 0 && info.stx_dio_offset_align <= io_alignment &&
           info.stx_dio_mem_align <= io_alignment;
#endif
  return true;
}

int open_uninterrupted(const std::string& path, int flags, mode_t mode) {
  return retry_interrupted([&] { return ::open(path.c_str(), flags, mode); });
}

// A new description only where direct transfers ask for one: the flag would change the file for all who share it.
int open_given(int number, const std::string& path, int flags, bool& direct) {
  const int copy = copy_for_reading(number);
  if (copy < 0 || !direct) return copy;
  const int anew = open_uninterrupted(path, flags | O_DIRECT, 0);
  direct = anew >= 0 && alignment_suffices(anew);
  if (!direct) {
    if (anew >= 0) close(anew);
    return copy;
  }
  close(copy);
  return anew;
}

}  // namespace

int copy_for_reading(int number) {
  const int flags = fcntl(number, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_WRONLY) return fcntl(number, F_DUPFD_CLOEXEC, 3);
  errno = EBADF;
  return -1;
}

int open_descriptor(const std::string& path, int flags, mode_t mode, bool& direct) {
  flags |= O_CLOEXEC | O_NOCTTY;
  if (const int number = descriptor_named(path); number >= 0 && (flags & (O_ACCMODE | O_CREAT)) == O_RDONLY)
    return open_given(number, path, flags, direct);
  if (!direct) return open_uninterrupted(path, flags, mode);
  int descriptor = open_uninterrupted(path, flags | O_DIRECT, mode);
  if (descriptor < 0 && errno == EINVAL) {
    // Some file systems refuse after O_CREAT has made the (empty) file.
    direct = false;
    descriptor = open_uninterrupted(path, flags, mode);
    if (descriptor < 0 && errno == EEXIST && (flags & O_EXCL) != 0) {
      struct stat info {};
      if (lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 && unlink(path.c_str()) == 0)
        descriptor = open_uninterrupted(path, flags, mode);
      else
        errno = EEXIST;
    }
    return descriptor;
  }
  if (descriptor >= 0 && !alignment_suffices(descriptor) && fcntl(descriptor, F_SETFL, flags & O_APPEND) == 0)
    direct = false;
  return descriptor;
}

}  // namespace flowrun::io
