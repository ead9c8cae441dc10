// How many rows there are, and an order-independent hash of them: what a sort took beside what it gave.
//
// A row's hash is a word of 64 bits, and a tally adds the words up. A row that is lost, added or changed changes the
// tally; the order of the rows and how they are cut into batches don't. The hash guards against faults of machines and
// programs, not against people: it has no secret. (hash.h has one of 128 bits that is shown to users and compared
// between jobs; this one lives no longer than a sort and must cost next to nothing.)
//
// Rows of at most eight bytes are a number x, and its hash is one to one, so that no change of a single row goes
// unseen:
//
//   x ^= x >> 32    x *= odd    x ^= x >> 32    x *= odd    x ^= x >> 29
//
// Rows of 9 to 31 bytes are two or four such numbers, which may overlap, hashed one after the other. Longer ones are
// vectors of words, each with a factor of its own. Strings go through XXH3, with their length.
//
// Cost with AVX-512: 0.2 ns for a row of eight bytes, 2 ns for 100 bytes. The hash is the same on every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::record {

struct row_tally {
  uint64_t num_rows = 0;
  uint64_t sum = 0;
  row_tally& operator+=(const row_tally& other) {
    num_rows += other.num_rows;
    sum += other.sum;
    return *this;
  }
  bool operator==(const row_tally&) const = default;
};

// Tallies rows of one type. Thread-safe.
class row_tallier {
 public:
  explicit row_tallier(const row_type& type);
  row_tally tally(const batch& rows) const;

 private:
  uint64_t hash_with_strings(const std::byte* row, const std::byte* heap) const;

  uint32_t row_bytes_;
  uint64_t (*sum_)(const std::byte* rows, size_t num_rows, size_t row_bytes);
  std::vector<uint32_t> string_offsets_;
};

}  // namespace flowrun::record
