// A transfer by copying between memory and mapped pages of the file (STXXL, section 3: one of STXXL's file types).
#pragma once

#include <cstdint>

#include "engine/io/request.h"

namespace flowrun::io {

// Carries out the whole transfer on the caller's thread: maps the range, copies, starts the write-back of what was
// written, unmaps. Bytes moved (reads: fewer at the end of the file), or a negative errno. Writes make the file longer
// where need be. A page that the disk can't deliver or has no room for would end the process with SIGBUS; so the pages
// are asked for beforehand (MADV_POPULATE, Linux 5.14), which says so instead. One that is gone by then, since the file
// has become shorter, is noticed while copying (a handler of SIGBUS, from the first transfer on). In both cases, on
// older kernels, and for files that can't be mapped, it falls back to pread and pwrite.
int64_t transfer_mapped(request& r) noexcept;

}  // namespace flowrun::io
