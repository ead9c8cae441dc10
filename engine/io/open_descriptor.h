// open(2) with O_DIRECT where the file system takes it.
#pragma once

#include <sys/types.h>

#include <string>

namespace flowrun::io {

// A copy of one of this process's own descriptors, for reading. It reads what was handed to the process, which opening
// by name may not allow (a file that only the caller may read) or may change (a position). Returns -1 and leaves EBADF
// in errno when the descriptor is closed or was opened for writing only.
int copy_for_reading(int number);

// Opens with O_DIRECT if `direct` and the file system agrees (also to the alignment of io_alignment); `direct` becomes
// what it is. Adds O_CLOEXEC and O_NOCTTY. A path that names one of our own descriptors is read through it. Returns -1
// and leaves errno on failure.
int open_descriptor(const std::string& path, int flags, mode_t mode, bool& direct);

}  // namespace flowrun::io
