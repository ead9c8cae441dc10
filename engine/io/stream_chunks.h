// What comes out of a pipe or a device, or what compressed content stands for, in pieces: a plain thread of its own
// reads ahead as far as there are buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/io/byte_stream.h"
#include "engine/io/request.h"

namespace flowrun::io {

struct stream_options {
  size_t chunk_bytes = 0;  // > 0: pieces end at multiples of it
  size_t depth = 0;        // pieces that may lie ready
  size_t num_buffers = 0;  // > depth: with those that the consumer holds
  uint64_t begin = 0;      // the bytes before this are read and dropped
  uint64_t end = 0;        // the bytes from this on are left in the pipe
};

struct stream_piece {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t num_bytes = 0;
  uint64_t offset = 0;
  uint64_t num_taken = 0;  // byte_stream::num_taken() behind this piece
};

// One thread at a time.
class stream_chunks {
 public:
  // `path` is for messages; `statistics` may be null.
  stream_chunks(backend& io, std::unique_ptr<byte_stream> from, const std::string& path, const stream_options& options,
                disk_statistics* statistics);
  // Doesn't wait for a silent pipe.
  ~stream_chunks();
  stream_chunks(const stream_chunks&) = delete;
  stream_chunks& operator=(const stream_chunks&) = delete;

  // As file_reader::next().
  outcome next(stream_piece& out, waker* w);

 private:
  class core;
  std::shared_ptr<core> core_;
};

}  // namespace flowrun::io
