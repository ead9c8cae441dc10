#include "operators/estimates.h"

namespace flowrun::operators {

plan::row_estimate with_type(const plan::row_estimate& input, const record::row_type& from,
                             const record::row_type& to) {
  plan::row_estimate out = input;
  const uint64_t fixed = input.rows * from.row_bytes();
  const uint64_t strings = input.num_bytes > fixed ? input.num_bytes - fixed : 0;
  out.num_bytes = input.rows * to.row_bytes() + (to.has_strings() ? strings : 0);
  return out;
}

plan::row_estimate at_most(plan::row_estimate input) {
  input.exact = false;
  return input;
}

plan::row_estimate sum(const plan::row_estimate& a, const plan::row_estimate& b) {
  return {a.rows + b.rows, a.num_bytes + b.num_bytes, a.known && b.known, a.exact && b.exact};
}

plan::row_estimate exactly(uint64_t rows, const record::row_type& type) {
  return {rows, rows * type.row_bytes(), true, true};
}

}  // namespace flowrun::operators
