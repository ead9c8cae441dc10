// Writes the files of an output_set behind its producer's back, from rows that come in any order of the files.
//
//   write() ─▶ an arena that is being filled │ one that a plain thread writes, file by file ─▶ output_set
//
// A full arena is written with one transfer, or a few, for each file that has something in it: however the files come,
// and however many there are, each is opened once for an arena. A file that comes all at once is opened once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/io/output_set.h"

namespace flowrun::io {

// One thread at a time calls; wakes come from its own.
class output_set_writer {
 public:
  // `memory_bytes`: for both arenas and what gathers small pieces. `to` outlives it.
  output_set_writer(output_set& to, size_t memory_bytes);
  // Stops; what wasn't written is lost.
  ~output_set_writer();
  output_set_writer(const output_set_writer&) = delete;
  output_set_writer& operator=(const output_set_writer&) = delete;

  // As output_file::write() and finish(), for the file with this number.
  outcome write(uint32_t file, std::span<const std::byte> data, size_t& consumed, waker* waiting);
  outcome finish(waker* waiting);

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace flowrun::io
