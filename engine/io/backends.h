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

// What to tell about `failure` of io_uring where sysctl kernel.io_uring_disabled (Linux 6.6) has the value `disabled`:
// 0 allowed, 1 for the privileged only, 2 forbidden; -1 unknown.
std::string explain_refusal(const std::string& failure, int disabled);

// Carries out the whole transfer on the caller's thread; bytes moved, or a negative errno.
int64_t perform(request& r) noexcept;

}  // namespace flowrun::io
