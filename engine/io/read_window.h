// Reads numbered pieces ahead of a consumer that takes them in ascending order and may leave some of them out.
//
// Reading ahead goes on from where the consumer is, `most_ahead` pieces at most. Leaving pieces out ends it: it begins
// anew once the consumer takes a second piece in a row, and doubles with each further one. So a consumer that jumps
// about reads nothing in vain, and for one that goes straight on all buffers are at work. A consumer that knows where
// it will jump says so (expect), and all buffers work for it. A piece that was left out while in flight is dropped when
// it arrives.
//
// Nothing is allocated per piece (transfer_pool.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/io/request.h"

namespace flowrun::io {

// What a window reads. Called by the window's consumer only, one call at a time.
class piece_source {
 public:
  // Sets all of `read` but its waker. Only until the window is gone.
  virtual void prepare(uint64_t piece, request& read, std::byte* memory) = 0;
  // Of a read that is done: takes its result, and throws when that is not what it should be.
  virtual void check(uint64_t piece, request& read, const std::byte* memory) = 0;

 protected:
  ~piece_source() = default;
};

struct window_options {
  uint64_t num_pieces = 0;    // 0 … num_pieces-1
  size_t longest_piece = 0;   // bytes
  size_t num_buffers = 2;     // counts those that the consumer holds; at least 1
  size_t most_ahead = 0;      // pieces; 0: as many as there are buffers
  bool ahead_at_once = true;  // else from the second piece in a row on
};

// A piece in memory: its buffer goes back when the last owner lets go, on any thread, also after the window is gone.
struct read_piece {
  std::shared_ptr<const void> owner;
  std::byte* memory = nullptr;
  uint64_t number = 0;
};

// One thread at a time.
class read_window {
 public:
  // `io` and `source` outlive the window.
  read_window(backend& io, piece_source& source, const window_options& options);
  // Waits for the reads in flight.
  ~read_window();
  read_window(const read_window&) = delete;
  read_window& operator=(const read_window&) = delete;

  // Begins to read, for a consumer that will ask later.
  void start();
  // The next piece into `out`, checked. blocked: `w` (may be null) will be woken; also while the consumer holds all
  // buffers, then when one comes back. Throws what check() threw, and again on every call after.
  outcome next(read_piece& out, waker* w);
  // The next piece is `piece`, which is not behind the reader.
  void skip_to(uint64_t piece);
  // These pieces, in ascending order, are those that will be asked for next. Others may be, too, but wait for their
  // turn. Replaces what was expected before.
  void expect(std::span<const uint64_t> pieces);

  uint64_t position() const;
  uint64_t num_read() const;

 private:
  class core;
  std::shared_ptr<core> core_;
};

}  // namespace flowrun::io
