// Time that can be replaced: code that measures or waits asks the clock that it was given. Real backends give
// steady_time(); the disk simulation gives its own (engine/io/event_clock.h), so that the same code runs hours of disk
// time in milliseconds.
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

class time_source {
 public:
  // Nanoseconds since an arbitrary start; never goes back. Thread-safe.
  virtual uint64_t now() const noexcept = 0;

 protected:
  ~time_source() = default;
};

// now_ns() as an object.
inline const time_source& steady_time() {
  static const struct final_source final : time_source {
    uint64_t now() const noexcept override { return now_ns(); }
  } source;
  return source;
}

}  // namespace flowrun
