// An order-independent hash of a multiset of rows: the 128-bit sum of the rows' hashes, with their count.
//
// Two streams with equal sums and counts hold the same rows, in any order. A string counts with its content and length,
// not with its place in a heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/key.h"

namespace flowrun::record {

struct multiset_hash {
  uint64_t num_rows = 0;
  word128 sum = 0;
  multiset_hash& operator+=(const multiset_hash& other) {
    num_rows += other.num_rows;
    sum += other.sum;
    return *this;
  }
  bool operator==(const multiset_hash&) const = default;
};

// Hashes rows of one type. Thread-safe.
class row_hasher {
 public:
  explicit row_hasher(const row_type& type);
  word128 hash(const std::byte* row, const std::byte* heap) const;
  multiset_hash hash(const batch& rows) const;

 private:
  uint32_t row_bytes_;
  std::vector<uint32_t> string_offsets_;
};

// 32 hexadecimal digits.
std::string to_string(word128 value);

}  // namespace flowrun::record
