// A range of a file in pieces of one length, as a window reads them: piece k begins at k times that length, but the
// first one where the range does. Direct reads take whole pages, so a piece may have something before it in its buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/io/file.h"
#include "engine/io/read_window.h"

namespace flowrun::io {

class file_pieces final : public piece_source {
 public:
  // [begin, end), of which pieces are numbered from the one on that has `begin`.
  file_pieces(std::unique_ptr<file> from, size_t piece_bytes, uint64_t begin, uint64_t end,
              disk_statistics* statistics);

  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool is_direct() const { return file_->is_direct(); }
  uint64_t num_pieces() const { return begin_ == end_ ? 0 : (end_ - 1) / piece_bytes_ - first_ + 1; }
  // The most that a piece takes of its buffer.
  size_t buffer_bytes() const;

  struct place {
    uint64_t offset = 0;   // in the file
    size_t skip = 0;       // bytes of the buffer before the piece
    size_t num_bytes = 0;  // of the piece
  };
  place place_of(uint64_t piece) const;
  // That has the byte at `offset`, or comes next; num_pieces() behind the range.
  uint64_t piece_at(uint64_t offset) const;

  void prepare(uint64_t piece, request& read, std::byte* memory) override;
  // Throws error(bad_data) when the file became shorter.
  void check(uint64_t piece, request& read, const std::byte* memory) override;

 private:
  const std::unique_ptr<file> file_;
  const size_t piece_bytes_;
  const uint64_t length_;  // of the file when it was opened
  const uint64_t end_;
  const uint64_t begin_;
  const uint64_t first_;  // the piece that has begin_, counted from the file's start
  disk_statistics* const statistics_;
};

}  // namespace flowrun::io
