#include "engine/io/open_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/buffer.h"

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
  int descriptor = ::open(path.c_str(), flags, mode);
  while (descriptor < 0 && errno == EINTR) descriptor = ::open(path.c_str(), flags, mode);
  return descriptor;
}

}  // namespace

int open_descriptor(const std::string& path, int flags, mode_t mode, bool& direct) {
  flags |= O_CLOEXEC | O_NOCTTY;
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
