// Chooses a backend. Containers often forbid io_uring (seccomp, sysctl), and some sandboxes make the ring and then fail
// the transfers, so the probe makes a ring and reads a real file through it.
#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "engine/base/error.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"

namespace flowrun::io {

namespace {

// The value of kernel.io_uring_disabled (Linux 6.6): 0 allowed, 1 for the privileged, 2 forbidden; -1 when unknown.
int io_uring_disabled() {
  const int descriptor = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  char digit = 0;
  const ssize_t got = read(descriptor, &digit, 1);
  close(descriptor);
  return got == 1 ? digit - '0' : -1;
}

// Reads the program itself through `ring`.
std::string try_read(backend& ring) {
  const auto program = file::open("/proc/self/exe", open_mode::read);
  std::array<std::byte, 4> magic{};
  request probe;
  probe.target = program.get();
  probe.data = magic.data();
  probe.num_bytes = magic.size();
  ring.submit(probe);
  probe.wait();
  if (probe.take_result() != magic.size() || magic[1] != std::byte{'E'})
    return "a read through the ring gave wrong data";
  return {};
}

}  // namespace

std::string io_uring_refusal() {
  try {
    const auto ring = make_uring_backend(1);
    return try_read(*ring);
  } catch (const error& failure) {
    return explain_refusal(failure.what(), io_uring_disabled());
  }
}

std::string explain_refusal(const std::string& failure, int disabled) {
  if (disabled == 2) return fmt::format("forbidden by sysctl kernel.io_uring_disabled=2 ({})", failure);
  if (disabled == 1)
    return fmt::format("{} (sysctl kernel.io_uring_disabled=1 forbids it to those without privileges)", failure);
  return failure;
}

std::unique_ptr<backend> make_backend(backend_kind kind, unsigned queue_depth) {
  switch (kind) {
    case backend_kind::automatic:
      return io_uring_refusal().empty() ? make_uring_backend(queue_depth) : make_thread_backend(queue_depth);
    case backend_kind::io_uring: {
      const std::string refusal = io_uring_refusal();
      if (!refusal.empty())
        throw error(error_kind::io, "the I/O backend io_uring can't be used: " + refusal,
                    "leave the choice of the backend to flowrun (auto), or choose threads");
      return make_uring_backend(queue_depth);
    }
    case backend_kind::threads: return make_thread_backend(queue_depth);
    case backend_kind::mmap: return make_mmap_backend(queue_depth);
    case backend_kind::memory: return make_memory_backend();
  }
  internal_error("unknown I/O backend");
}

}  // namespace flowrun::io
