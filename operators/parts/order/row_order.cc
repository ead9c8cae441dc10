#include "operators/parts/order/row_order.h"

#include <algorithm>

#include "engine/base/error.h"

namespace flowrun::operators {

record::key key_of(const record::row_type& type, const plan::order& sorted_by) {
  record::key out;
  for (const plan::order_term& t : sorted_by) {
    const auto column = type.index_of(t.column);
    FLOWRUN_CHECK(column.has_value());
    out.push_back({*column, t.descending, t.from, t.length});
  }
  return out;
}

row_order::row_order(const record::row_type& type, const plan::order& sorted_by)
    : comparator_(type, key_of(type, sorted_by)), words_(type, key_of(type, sorted_by)) {}

size_t row_order::first_out_of_order(const record::batch& rows) {
  constexpr size_t piece = 512;
  words_.compute(rows, word_list_);
  const uint64_t* const words = word_list_.data();
  for (size_t from = 1; from < rows.num_rows; from += piece) {
    const size_t to = std::min(rows.num_rows, from + piece);
    unsigned open = 0;
    if (words_.exact()) {
      for (size_t i = from; i < to; ++i) open |= static_cast<unsigned>(words[i] < words[i - 1]);
    } else {
      for (size_t i = from; i < to; ++i) open |= static_cast<unsigned>(words[i] <= words[i - 1]);
    }
    if (open == 0) continue;
    for (size_t i = from; i < to; ++i) {
      if (words[i] > words[i - 1]) continue;
      if (words[i] < words[i - 1]) return i;
      if (!words_.exact() && out_of_order(rows.row(i - 1), rows.heap, rows.row(i), rows.heap)) return i;
    }
  }
  return rows.num_rows;
}

}  // namespace flowrun::operators
