// The index of a file of sorted rows, in a file beside it (PATH.index). It has the first row of every block of so many
// rows, and a checksum of the block. A reader that looks for a key reads only the blocks that may hold it (STXXL,
// section 10: a breadth-first search reads the blocks of its frontier).
//
//   magic "FLOWRIX\n" | version u32 | bytes of a row u32
//   for each block: its first row | XXH3 of all its rows u64
//   what the rows are: "u32 u32\n+0 +1", types and, by their numbers, the columns they are sorted by
//   rows u64 | blocks u64 | rows of a block u32 | bytes of the description u32 | XXH3 of all before u64
//
// Numbers are little endian. The index of a file of 16-byte rows takes about 1/4096 of the file. A block has about 64
// KiB: whole rows, and whole pages where the width of a row allows it. An index is written after its rows, so an index
// that is older than the rows belongs to other rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/plan/order.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

struct XXH3_state_s;

namespace flowrun::operators {

std::string index_path(const std::string& rows_path);

// Makes an index while the rows go by.
class row_index_builder {
 public:
  // Rows without strings, sorted by `sorted_by`, which is not empty.
  row_index_builder(const record::row_type& type, const plan::order& sorted_by);
  ~row_index_builder();
  // Rows behind those before.
  void add(const std::byte* rows, size_t num_rows);
  // No more rows come.
  void finish();
  // What is to be written next, of which the first `num_bytes` can be forgotten.
  std::span<const std::byte> pending() const { return std::span(pending_).subspan(written_); }
  void forget(size_t num_bytes);

 private:
  struct state_free {
    void operator()(XXH3_state_s* state) const;
  };
  using hash_state = std::unique_ptr<XXH3_state_s, state_free>;

  void put(const void* data, size_t num_bytes);
  void end_block();

  const uint32_t row_bytes_;
  const uint32_t rows_per_block_;
  const std::string description_;
  hash_state block_, all_;
  uint64_t num_rows_ = 0, num_blocks_ = 0;
  uint32_t in_block_ = 0;  // rows
  std::vector<std::byte> pending_;
  size_t written_ = 0;
};

// A whole index in memory.
class row_index {
 public:
  // Throws error(missing_input) where there is none, error(bad_data) where it is damaged, belongs to other rows (their
  // type, order, size, or a later change), and error(resources) where it is larger than `most_bytes`.
  static row_index load(const std::string& rows_path, const record::row_type& type, const plan::order& sorted_by,
                        uint64_t most_bytes);

  // Throws what load() throws, as far as the beginning and the end of the index show it: all but damage to what lies
  // between them, and a size that is too large.
  static void look_into(const std::string& rows_path, const record::row_type& type, const plan::order& sorted_by);

  uint64_t num_rows() const { return num_rows_; }
  uint64_t num_blocks() const { return num_blocks_; }
  uint32_t rows_per_block() const { return rows_per_block_; }
  uint64_t num_bytes() const { return content_.size(); }
  const std::byte* first_row(uint64_t block) const { return entries_ + block * (row_bytes_ + sizeof(uint64_t)); }
  // Whether these are the rows of that block.
  bool is_block(uint64_t block, std::span<const std::byte> rows) const;

 private:
  std::vector<std::byte> content_;
  const std::byte* entries_ = nullptr;
  uint64_t num_rows_ = 0, num_blocks_ = 0;
  uint32_t rows_per_block_ = 1, row_bytes_ = 0;
};

}  // namespace flowrun::operators
