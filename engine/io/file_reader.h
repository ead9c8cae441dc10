// Reads one input file, or a part of it, from front to back, ahead of its consumer.
//
// Up to `depth` chunks are being read or lie ready (read_window.h); the consumer may keep up to `max_held` more.
// Buffers are recycled as soon as the last owner of a chunk lets go, so memory never exceeds (depth + max_held) chunks.
// Files are read directly (past the page cache) unless the cache holds them already: reading an input once must not
// push out what others need, nor count against a memory cgroup. Pipes and devices are read by one plain thread instead
// (stream_chunks.h), and so is compressed content where that is to be decoded (decoded_stream.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/outcome.h"
#include "engine/base/units.h"
#include "engine/base/waker.h"
#include "engine/io/request.h"

namespace flowrun::io {

enum class caching : uint8_t {
  automatic,  // buffered where the page cache holds at least half of it, or where it is small; direct otherwise
  direct,     // where the file system can
  buffered,
};

// Content that is compressed, as its first bytes tell, is decoded: the reader gives its text.
struct decoding_options {
  uint64_t memory_bytes = 0;  // for decoding and all buffers; chunks of text are as much smaller as that takes
  uint64_t origin = 0;        // the byte of the file where the content begins
  std::string hint = {};      // what to do about damage besides getting the file again
};

struct file_reader_options {
  size_t chunk_bytes = 1 * MiB;  // > 0; multiples of 4096 are best
  unsigned depth = 4;            // 1 to 64
  unsigned max_held = 16;        // at least 1
  caching cache = caching::automatic;
  // Reads ahead from the first chunk on; else from the second one in a row, for consumers that leave out much.
  bool ahead_at_once = true;
  std::optional<decoding_options> decoding = std::nullopt;  // else bytes are given as they are
};

// A piece of the file. Valid as long as `owner` (or a copy of it) lives, also beyond the reader.
struct chunk {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  size_t num_bytes = 0;   // > 0
  uint64_t offset = 0;    // of data[0] in the file, or in the text that was decoded
  size_t file_bytes = 0;  // of the file that this stands for: num_bytes, unless it was decoded
};

// One thread at a time calls next(); chunks may be released by any thread.
class file_reader {
 public:
  // Reads [begin, end) as far as the file has it; with `decoding`, counted from `origin` on, and of the text. Throws
  // error(missing_input) when it can't be opened. `io` and `statistics` (may be null) must outlive the reader. For
  // something without positions (a pipe), `begin` bytes are skipped by reading. Decoding may throw error(resources)
  // where it takes more memory than it has.
  file_reader(backend& io, const std::string& path, file_reader_options options = {}, uint64_t begin = 0,
              uint64_t end = UINT64_MAX, disk_statistics* statistics = nullptr);
  // Waits for reads in flight.
  ~file_reader();
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  // ready: `out` is the next piece; pieces follow each other without gaps, and end at multiples of chunk_bytes in the
  // file. blocked: `waiting` is woken when the next piece is there, or when a chunk was released and all had been out.
  // It must stay alive until woken, until the next call of next(), or until the reader is gone. done: the range is
  // read. Throws error(io) when the system fails, error(bad_data) when the file became shorter meanwhile or compressed
  // content is damaged, error(resources) when decoding takes more memory; then always the same.
  outcome next(chunk& out, waker* waiting);

  // The next chunk is the one with the byte at `offset`, which is not behind the reader. Not for a pipe.
  void skip_to(uint64_t offset);

  const std::string& path() const;
  // The bytes in the range; unknown for pipes and devices, and where content is decoded.
  std::optional<uint64_t> num_bytes() const;
  bool is_direct() const;
  bool is_stream() const;  // a pipe or device, or decoded

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::io
