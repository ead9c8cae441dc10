// Finds where the groups of a stream begin: rows that follow each other with equal values in some columns.
//
// Equal means equal bits (engine/record/key.h orders every bit pattern of a number, so a sort agrees), and for strings
// equal content. Cost: about 1 ns a row for columns that lie side by side and are 4, 8 or 16 bytes wide together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/record/batch.h"

namespace flowrun::operators {

class row_groups {
 public:
  // No columns: all rows are one group.
  row_groups(const record::row_type& type, const std::vector<size_t>& columns);

  bool equal(const std::byte* a, const std::byte* a_heap, const std::byte* b, const std::byte* b_heap) const;
  // Appends each i > 0 whose row differs from row i - 1, ascending.
  void find(const record::batch& rows, std::vector<uint32_t>& starts) const;

 private:
  struct span {
    uint32_t offset, num_bytes;
  };
  std::vector<span> spans_;  // fixed-width columns
  std::vector<uint32_t> string_offsets_;
};

// The groups of a stream, batch after batch.
class group_tracker {
 public:
  explicit group_tracker(row_groups groups) : groups_(std::move(groups)) {}

  // The groups within `rows`: group k has the rows [starts[k], starts[k + 1]). When `open()` was true before the call,
  // group 0 is the one that was open; it may have no rows here. The last group is open afterwards.
  const std::vector<uint32_t>& add(const record::batch& rows);
  bool open() const { return last_.num_rows > 0; }
  // The last row seen; valid when open. Keeps its batch alive.
  const record::batch& last() const { return last_; }
  // As if this row had been the last one; none: there was none.
  void begin_with(record::batch last) { last_ = std::move(last); }

 private:
  row_groups groups_;
  record::batch last_;
  std::vector<uint32_t> starts_;
};

}  // namespace flowrun::operators
