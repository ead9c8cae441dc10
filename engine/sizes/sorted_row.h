// What a row takes in memory while it is sorted: narrow rows are words of 8 or 16 bytes, all others have an entry of an
// index beside them.
#pragma once

#include <cstdint>

namespace flowrun::sizes {

// The beginning of the key, and where the row is.
constexpr uint64_t index_entry_bytes = 16;

// Entries number the rows of a stretch of the run buffer, and strings lie in it, in 32 bits.
constexpr uint64_t longest_stretch = 0xffff'ffff;

constexpr uint64_t word_bytes(uint64_t row_bytes) { return row_bytes <= 8 ? 8 : 16; }

// `num_bytes`: of the rows and their strings. `indexed`: they are not sorted as words.
constexpr uint64_t bytes_to_sort(uint64_t rows, uint64_t num_bytes, uint64_t row_bytes, bool indexed) {
  return indexed ? num_bytes + rows * index_entry_bytes : rows * word_bytes(row_bytes);
}

}  // namespace flowrun::sizes
