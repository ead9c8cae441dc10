// Things that are read or written from front to back only: pipes, terminals, character devices, standard input and
// output.
//
// Transfers block, so they belong on a plain thread; stop() from another thread ends the one in progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/io/byte_stream.h"
#include "engine/io/transfer.h"

namespace flowrun::io {

class descriptor_stream final : public byte_stream {
 public:
  // Throws error(missing_input) or error(output). Doesn't wait for the other end of a FIFO.
  static std::unique_ptr<descriptor_stream> open(const std::string& path, direction way);
  ~descriptor_stream() override;
  descriptor_stream(const descriptor_stream&) = delete;
  descriptor_stream& operator=(const descriptor_stream&) = delete;

  const std::string& path() const { return path_; }
  int64_t read(std::byte* data, size_t num_bytes) override;
  uint64_t num_taken() const override { return num_read_; }
  // Writes all. Returns num_bytes, or a negative errno; -ECANCELED after stop(). The first write to a FIFO, also one of
  // no bytes, waits for its reader.
  int64_t write(const std::byte* data, size_t num_bytes);
  void stop() noexcept override;
  // False before the first write to a FIFO that nobody had opened to read.
  bool is_open() const { return descriptor_ >= 0; }

 private:
  descriptor_stream(std::string path, int descriptor, int stopper);
  int wait_for(short events) const;  // 0, or an errno
  int wait_for_reader();             // the same
  // Where it was ready, and then moved nothing: not for ever, as in transfer.h.
  static bool is_tried_again(int cause, unsigned& num_retries);

  std::string path_;
  int descriptor_;
  uint64_t num_read_ = 0;
  int stopper_;  // an eventfd, readable once stopped
};

// The number of the descriptor of this process that a path names: /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N,
// /proc/self/fd/N. -1: another path.
int descriptor_named(std::string_view path);
// Opens what a stream's path names; where that is a descriptor of this process, a copy of it. -1: errno tells.
int open_to_write(const std::string& path);
inline bool names_descriptor(std::string_view path) { return descriptor_named(path) >= 0; }

}  // namespace flowrun::io
