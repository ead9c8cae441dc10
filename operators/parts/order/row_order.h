// Whether rows are in an order: what `check` and declared orders ask for every row. Neighbouring words of keys
// (engine/record/key_fronts.h) are compared without a branch for each row; rows are compared in full only where words
// leave it open.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/order.h"
#include "engine/record/key_fronts.h"

namespace flowrun::operators {

// The key for an order whose columns `type` has.
record::key key_of(const record::row_type& type, const plan::order& sorted_by);

class row_order {
 public:
  row_order(const record::row_type& type, const plan::order& sorted_by);

  // Row b may not follow row a.
  bool out_of_order(const std::byte* a, const std::byte* a_heap, const std::byte* b, const std::byte* b_heap) const {
    return comparator_.compare(a, a_heap, b, b_heap) > 0;
  }
  // The first row i > 0 that may not follow row i - 1; num_rows if there is none. One call at a time.
  size_t first_out_of_order(const record::batch& rows);

 private:
  record::row_comparator comparator_;
  record::key_fronts words_;
  std::vector<uint64_t> word_list_;
};

}  // namespace flowrun::operators
