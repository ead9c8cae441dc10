#include "operators/parts/rules/estimates.h"

#include <algorithm>

namespace flowrun::operators {

namespace {

constexpr uint64_t computed_text_bytes = 16;  // what a text that a map adds is taken to have

uint64_t num_strings(const record::row_type& type) {
  return static_cast<uint64_t>(std::count_if(type.columns().begin(), type.columns().end(),
                                             [](const record::column& c) { return c.type.is_string(); }));
}

}  // namespace

plan::row_estimate with_type(const plan::row_estimate& input, const record::row_type& from,
                             const record::row_type& to) {
  plan::row_estimate out = input;
  const uint64_t fixed = input.rows * from.row_bytes();
  const uint64_t strings = input.num_bytes > fixed ? input.num_bytes - fixed : 0;
  const uint64_t before = num_strings(from), after = num_strings(to);
  const uint64_t added = after > before ? (after - before) * input.rows * computed_text_bytes : 0;
  out.num_bytes = input.rows * to.row_bytes() + (after > 0 ? strings : 0) + added;
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
