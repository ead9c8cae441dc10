#include "engine/io/file_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/buffer.h"
#include "engine/base/error.h"

namespace flowrun::io {

file_pieces::file_pieces(std::unique_ptr<file> from, size_t piece_bytes, uint64_t begin, uint64_t end,
                         disk_statistics* statistics)
    : file_(std::move(from)),
      piece_bytes_(piece_bytes),
      length_(file_->num_bytes()),
      end_(std::min(end, length_)),
      begin_(std::min(begin, end_)),
      first_(begin_ / piece_bytes_),
      statistics_(statistics) {}

// An odd piece in direct mode needs part of a page on either side.
size_t file_pieces::buffer_bytes() const {
  return round_up(piece_bytes_, io_alignment) + (piece_bytes_ % io_alignment == 0 ? 0 : io_alignment);
}

file_pieces::place file_pieces::place_of(uint64_t piece) const {
  const uint64_t number = first_ + piece;
  place out;
  out.offset = std::max(begin_, number * piece_bytes_);
  out.num_bytes = static_cast<size_t>(number == (end_ - 1) / piece_bytes_ ? end_ - out.offset
                                                                          : (number + 1) * piece_bytes_ - out.offset);
  out.skip = is_direct() ? static_cast<size_t>(out.offset % io_alignment) : 0;
  return out;
}

uint64_t file_pieces::piece_at(uint64_t offset) const {
  if (offset >= end_) return num_pieces();
  return std::max(offset, begin_) / piece_bytes_ - first_;
}

void file_pieces::prepare(uint64_t piece, request& read, std::byte* memory) {
  const place at = place_of(piece);
  read.target = file_.get();
  read.way = direction::read;
  read.offset = at.offset - at.skip;
  read.data = memory;
  read.num_bytes = is_direct() ? round_up(at.skip + at.num_bytes, io_alignment) : at.num_bytes;
  read.statistics = statistics_;
}

void file_pieces::check(uint64_t piece, request& read, const std::byte*) {
  const size_t num_read = read.take_result();
  const place at = place_of(piece);
  if (num_read >= at.skip + at.num_bytes) return;
  throw error(error_kind::bad_data,
              fmt::format("{} became shorter while it was being read: it had {} bytes and ended at {}", file_->path(),
                          length_, at.offset + (num_read > at.skip ? num_read - at.skip : 0)),
              "let nothing write to the file during the job, and run it again");
}

}  // namespace flowrun::io
