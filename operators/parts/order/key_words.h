// Keys as 64-bit words, computed a batch at a time: most comparisons of merge and join are then one comparison of
// words.
//
// The word of a row holds the first 8 bytes of its normalised key (engine/record/key.h), computed column by column.
// Words of different order decide; equal words decide when the whole key fits (`exact`), else the rows are compared.
// Cost: about 1 ns per row and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/order.h"
#include "engine/record/batch.h"
#include "engine/record/key.h"

namespace flowrun::operators {

// The key for an order whose columns `type` has.
record::key key_of(const record::row_type& type, const plan::order& sorted_by);

class key_words {
 public:
  key_words(const record::row_type& type, const record::key& parts);
  // Equal words mean equal keys.
  bool exact() const { return exact_; }
  // The word of every row.
  void compute(const record::batch& rows, std::vector<uint64_t>& words) const;

 private:
  struct part {
    record::type_kind kind;
    bool descending;
    uint32_t num_bytes;  // that go into the word; of a string at most
    uint32_t offset;
  };
  std::vector<part> parts_;
  bool exact_ = true;
};

}  // namespace flowrun::operators
