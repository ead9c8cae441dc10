// Order as a property of an edge (decision D6): what the planner can prove about how the rows of a stream are sorted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/row_type.h"

namespace flowrun::plan {

// One key: a column, or the bytes [from, from + length) of a bytes[N] column.
struct order_term {
  std::string column;
  bool descending = false;
  uint32_t from = 0;
  uint32_t length = 0;  // 0: the whole column
  bool operator==(const order_term&) const = default;
};

// Lexicographic: rows are non-decreasing by the first term, equal rows by the second, … Empty: nothing is known.
using order = std::vector<order_term>;

// A stream sorted by `have` is sorted by `need`: `need` is a prefix of `have`.
bool satisfies(const order& have, const order& need);

// Rows with equal values in `columns` are adjacent: `columns`, in any sequence and direction, are a prefix of `have`.
bool adjacent(const order& have, const std::vector<std::string>& columns);

// What remains of `have` after a map: the longest prefix whose columns survive unchanged. `renamed` gives (old, new)
// for each column that is carried over as it is. Of a column with several new names the old one is used where it is
// among them, else the first.
order carried_over(const order& have, const std::vector<std::pair<std::string, std::string>>& renamed);

// "src, -deg, key[0:10]"; "nothing" when empty.
std::string to_string(const order& o);

}  // namespace flowrun::plan
