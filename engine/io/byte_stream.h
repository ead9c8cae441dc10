// Bytes that come from front to back and at their own pace, on a plain thread that may sleep (stream_chunks.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace flowrun::io {

class byte_stream {
 public:
  virtual ~byte_stream() = default;
  // Fills `data` unless the input ends first. Returns the bytes read, or a negative errno; -ECANCELED after stop().
  virtual int64_t read(std::byte* data, size_t num_bytes) = 0;
  // From another thread: ends the read() in progress, and all after it.
  virtual void stop() noexcept = 0;
  // Bytes of the file or pipe that have been taken so far; called by the thread that reads.
  virtual uint64_t num_taken() const = 0;
};

}  // namespace flowrun::io
