// How long the blocks of scratch must be for rows of a given length, and what rows then take there. Pure.
//
// No row goes across the end of a block, so a block is as long as its longest row asks for. Blocks of a sort are longer
// still where rows are long: the first key of each block stays in memory, and should be a small part of what there is.
// Longer blocks mean fewer of them in the same memory: fewer write buffers, and a smaller fan-in. So the planner asks
// here with the widths that it knows, and the sort with those that it sees (creator_for_rows in sort_memory.h).
//
// Example: rows of 40,000 bytes, blocks of 64 KiB, 12.4 MiB to create runs and 7.45 MiB to merge them. A block shall
// have a quarter of 953 KiB, an eighth of the smaller memory: it has 256 KiB and six rows. 22 of them fit the memory of
// the merge, which takes 15 runs at once instead of 71.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "engine/base/units.h"

namespace flowrun::sizes {

// What each block on scratch begins with (engine/block/block_format.h).
constexpr uint64_t block_header_bytes = 64;
// Rows of average length that a block of a sort shall have, as far as the memory allows.
constexpr uint64_t rows_per_block = 32;

// The length of a block, of at least `least_bytes`, that a row fits: a power of two, but those of very long rows are
// little longer than these, since memory has room for a few of them only.
constexpr uint64_t block_for_row(uint64_t row_bytes, uint64_t least_bytes) {
  constexpr uint64_t longest_row = uint64_t{1} << 62;  // longer ones have no block that could be named
  constexpr uint64_t step = 64 * KiB;
  const uint64_t needed = std::min(row_bytes, longest_row) + block_header_bytes;
  return std::max(least_bytes, needed <= MiB ? std::bit_ceil(needed) : (needed + step - 1) / step * step);
}

// With their strings, and in `average_bytes` with their entry of the index.
struct row_lengths {
  uint64_t longest_bytes = 0;
  uint64_t average_bytes = 0;
};

// The length of a sort's blocks, of at least `least_bytes`, and more than `most` only where the longest row asks for
// it.
constexpr uint64_t block_for_rows(const row_lengths& rows, uint64_t least_bytes, uint64_t most) {
  const uint64_t comfortable = rows.average_bytes > most / rows_per_block ? most : rows_per_block * rows.average_bytes;
  return std::max(block_for_row(rows.longest_bytes, least_bytes), std::bit_ceil(comfortable));
}

// Blocks of one stream that are allocated side by side on a disk.
constexpr unsigned bunch_blocks = 4;
// What a writer may have allocated on the disks, and not yet used, when it has written something.
constexpr uint64_t allocated_ahead(unsigned num_disks, uint64_t block_bytes) {
  return (bunch_blocks - 1) * uint64_t{num_disks} * block_bytes;
}

// At most so much of scratch do rows take, `num_bytes` together, that lie in `num_sequences` (runs, say): blocks are
// written whole, each sequence begins one, and no row goes across the end of one. Blocks are longer where a row needs
// that.
constexpr uint64_t bytes_in_blocks(uint64_t num_bytes, uint64_t row_bytes, uint64_t num_sequences,
                                   uint64_t block_bytes) {
  if (num_bytes == 0) return 0;
  const uint64_t row = std::clamp<uint64_t>(row_bytes, 1, GiB);
  const uint64_t block = block_for_row(row, block_bytes);
  const uint64_t filled = (block - block_header_bytes) / row * row;
  return (num_bytes / filled + num_sequences) * block;
}

}  // namespace flowrun::sizes
