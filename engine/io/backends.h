// The makers of the single backends; only backend.cc and tests choose one by hand.
#pragma once

#include <memory>

#include "engine/io/request.h"

namespace flowrun::io {

// Throws error(io) with the cause when the kernel doesn't let us.
std::unique_ptr<backend> make_uring_backend(unsigned queue_depth);
// Throws error(resources) when there is no thread to be had.
std::unique_ptr<backend> make_thread_backend(unsigned queue_depth);
// Throws error(resources) when there is no thread to be had.
std::unique_ptr<backend> make_mmap_backend(unsigned queue_depth);
std::unique_ptr<backend> make_memory_backend();

// Carries out the whole transfer on the caller's thread; bytes moved, or a negative errno.
int64_t perform(request& r) noexcept;

}  // namespace flowrun::io
