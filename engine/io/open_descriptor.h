// open(2) with O_DIRECT where the file system takes it.
#pragma once

#include <sys/types.h>

#include <string>

namespace flowrun::io {

// Opens with O_DIRECT if `direct` and the file system agrees (also to the alignment of io_alignment); `direct` becomes
// what it is. Adds O_CLOEXEC and O_NOCTTY. Returns -1 and leaves errno on failure.
int open_descriptor(const std::string& path, int flags, mode_t mode, bool& direct);

}  // namespace flowrun::io
