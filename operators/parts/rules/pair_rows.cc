#include "operators/parts/rules/pair_rows.h"

#include <algorithm>
#include <numeric>

namespace flowrun::operators {

namespace {

std::vector<size_t> all_of(const record::row_type& type) {
  std::vector<size_t> out(type.num_columns());
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

}  // namespace

record::row_type pair_type(const record::row_type& a, const std::vector<size_t>& left, const record::row_type& b,
                           const std::vector<size_t>& right) {
  std::vector<record::column> columns;
  for (size_t k : left) columns.push_back({"a." + a[k].name, a[k].type});
  for (size_t k : right) columns.push_back({"b." + b[k].name, b[k].type});
  return record::row_type(std::move(columns));
}

record::row_type pair_type(const record::row_type& a, const record::row_type& b) {
  return pair_type(a, all_of(a), b, all_of(b));
}

void pair_columns::add(const expr::expression& value, const record::row_type& a) {
  for (size_t k : value.columns()) {
    std::vector<size_t>& side = k < a.num_columns() ? left : right;
    const size_t column = k < a.num_columns() ? k : k - a.num_columns();
    const auto at = std::lower_bound(side.begin(), side.end(), column);
    if (at == side.end() || *at != column) side.insert(at, column);
  }
}

std::vector<size_t> pair_columns::places(const record::row_type& a) const {
  const size_t last = right.empty() ? a.num_columns() : a.num_columns() + right.back() + 1;
  std::vector<size_t> out(last, 0);
  for (size_t k = 0; k < left.size(); ++k) out[left[k]] = k;
  for (size_t k = 0; k < right.size(); ++k) out[a.num_columns() + right[k]] = left.size() + k;
  return out;
}

}  // namespace flowrun::operators
