// Time as a seam: the engine asks a clock, tests and the disk simulation hand in their own.
#pragma once

#include <chrono>
#include <cstdint>

namespace flowrun {

// Nanoseconds since an arbitrary start; never goes back.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace flowrun
