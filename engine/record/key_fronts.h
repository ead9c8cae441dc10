// The first 8 bytes of normalised keys (key.h), one word for each row of a batch, computed column by column: most
// comparisons of merge and join are then one comparison of words.
//
// Words of different order decide; equal words decide when the whole key fits (`exact`), else the rows are compared.
// Cost: about 1 ns per row and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/key.h"

namespace flowrun::record {

class key_fronts {
 public:
  key_fronts(const row_type& type, const key& parts);
  // Equal words mean equal keys.
  bool exact() const { return exact_; }
  // The word of every row.
  void compute(const batch& rows, std::vector<uint64_t>& words) const;

 private:
  // A piece; or a string, of which offset and flip matter, and how many bytes go into the word at most.
  struct part {
    bool is_text;
    key_piece piece;
  };
  std::vector<part> parts_;
  bool exact_ = true;
};

}  // namespace flowrun::record
