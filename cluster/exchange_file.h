// A file by which rows of any type go from one task to another, in frames of rows as they lie in memory.
//
//   frame   rows u32 | 0 u32 | bytes of the heap u64 | XXH3 of rows and heap u64 | rows, packed | heap of their strings
//   …
//   samples for each: its place among the rows u64, its length u32, 0 u32, and the row: packed, then the heap of its
//           strings
//   index   the row type as text: its length u32, then the text
//           for each frame: its place in the file u64, the rows before it u64, rows u32, 0 u32
//   tail    magic "FLOWREX\n" | version u32 | bytes of a row u32 | rows u64 | frames u64 | place of the samples u64 |
//           their XXH3 u64 | place of the index u64 | XXH3 of the index and all of the tail before this u64
//
// Numbers are little endian. A frame has as many bytes as a batch, or less: a power of two. The heap of a frame that is
// nearly that long is filled up, so that the next one begins at a multiple of it: then chunks in which a file is read
// end with a frame, and no rows have to be copied together. Samples are some of the rows, the first one always: one of
// each 4 KiB of rows, until there are too many; then every second one goes, and from there on one is taken of twice as
// many bytes. So they stay few, however long the file becomes, and say where in sorted rows a place is to be looked for
// (cut_points.h). Who reads rows doesn't read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::cluster {

// Makes the bytes of a file while rows go by.
class exchange_encoder {
 public:
  static constexpr size_t bytes_of_samples = size_t{1} << 20;  // that are kept, but for a single one that is longer

  // A frame has `frame_bytes` at most, so that it fits the memory of a batch, unless a single row has more.
  exchange_encoder(const record::row_type& type, size_t frame_bytes);
  void add(const record::batch& rows);
  // No more rows come. `path`: of the file that they will be read from, whose name and directory count.
  void finish(const std::string& path);
  // What is to be written next, of which the first `num_bytes` can be forgotten.
  std::span<const std::byte> pending() const { return std::span(pending_).subspan(written_, frame_at_ - written_); }
  void forget(size_t num_bytes);
  uint64_t num_rows() const { return num_rows_; }

 private:
  struct kept_sample {
    uint64_t place;
    std::vector<std::byte> content;
  };
  void add_row(const record::batch& in, size_t row);
  void add_rows(const std::byte* rows, size_t count);
  bool is_sampled() const { return samples_.empty() || since_sample_ >= sample_every_; }
  void sample(const std::byte* row);
  size_t bytes_in_frame() const { return pending_.size() - frame_at_ + heap_.size(); }
  void begin_frame();
  void end_frame(bool is_last = false);

  const record::row_type type_;
  const size_t frame_bytes_;
  std::vector<uint32_t> string_offsets_;
  std::vector<std::byte> heap_;   // of the frame at hand
  std::vector<std::byte> index_;  // of those before
  uint32_t num_in_frame_ = 0;
  std::vector<kept_sample> samples_;
  uint64_t bytes_of_samples_ = 0;
  uint64_t sample_every_, since_sample_ = 0;  // bytes of rows
  uint64_t num_rows_ = 0, num_rows_before_ = 0, num_frames_ = 0, offset_ = 0;
  std::vector<std::byte> pending_;  // frames, and behind them room for the header of the one at hand, and its rows
  size_t frame_at_ = 0;             // where that one begins
  size_t written_ = 0;
};

struct exchange_frame {
  uint64_t offset = 0, num_bytes = 0;
  uint64_t first_row = 0;
  uint32_t num_rows = 0;
};

// What a file says of its frames, in memory.
class exchange_index {
 public:
  // Throws error(missing_input) where there is no such file, error(bad_data) where it is damaged or has other rows.
  static exchange_index load(const std::string& path, const record::row_type& type);

  uint64_t num_rows() const { return num_rows_; }
  const std::vector<exchange_frame>& frames() const { return frames_; }
  uint64_t num_row_bytes() const;  // of all rows, with their strings
  // The frame in which the row of this place lies, of which there is one.
  size_t frame_of(uint64_t place) const;

 private:
  friend class exchange_samples;
  std::vector<exchange_frame> frames_;
  uint64_t num_rows_ = 0;
  uint64_t samples_offset_ = 0, samples_bytes_ = 0, samples_checksum_ = 0;
};

// A row whose place in the file is known.
struct sampled_row {
  uint64_t place = 0;  // in the stream of the file's rows
  const std::byte* row = nullptr;
  const std::byte* heap = nullptr;
};

// The samples of a file, in memory.
class exchange_samples {
 public:
  // Of the first row on, about `most` of them at the same distances; at least 1. Throws as exchange_index::load().
  static exchange_samples load(const std::string& path, const record::row_type& type, const exchange_index& index,
                               size_t most = SIZE_MAX);
  const std::vector<sampled_row>& rows() const { return rows_; }

 private:
  std::vector<std::byte> content_;
  std::vector<sampled_row> rows_;
};

// The rows of a frame, of which `bytes` are all; they are there as long as `owner` is. Throws error(bad_data) unless
// they are what was written.
record::batch rows_of_frame(const std::string& path, const exchange_frame& frame, uint32_t row_bytes,
                            const std::byte* bytes, std::shared_ptr<const void> owner);
// Reads it, too. Throws error(io).
record::batch read_frame(const std::string& path, const exchange_frame& frame, uint32_t row_bytes);

}  // namespace flowrun::cluster
