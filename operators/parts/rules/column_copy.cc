#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

record::batch sharing_heap(const record::batch& in, std::shared_ptr<std::byte[]> rows, size_t num_rows,
                           uint32_t row_bytes) {
  record::batch out;
  out.rows = rows.get();
  out.num_rows = num_rows;
  out.row_bytes = row_bytes;
  if (in.heap == nullptr) {
    out.owner = std::move(rows);
  } else {
    out.heap = in.heap;
    out.heap_bytes = in.heap_bytes;
    out.owner = std::make_shared<std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<const void>>>(std::move(rows),
                                                                                                       in.owner);
  }
  return out;
}

column_copy::column_copy(const record::row_type& from, const record::row_type& to,
                         const std::vector<std::pair<size_t, size_t>>& columns) {
  for (const auto& [source, target] : columns) {
    const record::column& a = from[source];
    const record::column& b = to[target];
    if (a.type.is_string()) strings_.push_back({a.offset, b.offset});
    if (!spans_.empty() && spans_.back().from + spans_.back().num_bytes == a.offset &&
        spans_.back().to + spans_.back().num_bytes == b.offset)
      spans_.back().num_bytes += a.type.num_bytes;
    else
      spans_.push_back({a.offset, b.offset, a.type.num_bytes});
  }
}

}  // namespace flowrun::operators
