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
  const uint64_t fixed = plan::bound_times(input.rows, from.row_bytes());
  const uint64_t strings = input.num_bytes > fixed ? input.num_bytes - fixed : 0;
  const uint64_t before = num_strings(from), after = num_strings(to);
  const uint64_t added = after > before ? plan::bound_times(input.rows, (after - before) * computed_text_bytes) : 0;
  out.num_bytes = plan::expected(plan::bound_plus(plan::bound_times(input.rows, to.row_bytes()),
                                                  plan::bound_plus(after > 0 ? strings : 0, added)));
  out.most_bytes = after > 0 ? plan::row_estimate::unbounded : plan::bound_times(input.most_rows, to.row_bytes());
  return out;
}

plan::row_estimate at_most(plan::row_estimate input) {
  input.exact = false;
  return input;
}

plan::row_estimate sum(const plan::row_estimate& a, const plan::row_estimate& b) {
  return {plan::expected(a.rows + b.rows),
          plan::expected(a.num_bytes + b.num_bytes),
          a.known && b.known,
          a.exact && b.exact,
          plan::bound_plus(a.most_rows, b.most_rows),
          plan::bound_plus(a.most_bytes, b.most_bytes)};
}

plan::row_estimate exactly(uint64_t rows, const record::row_type& type) {
  plan::row_estimate out = plan::exact_rows(rows, type.row_bytes());
  if (type.has_strings()) out.most_bytes = plan::row_estimate::unbounded;
  return out;
}

plan::row_estimate times(plan::row_estimate input, uint64_t factor) {
  input.rows = plan::expected(plan::bound_times(input.rows, factor));
  input.num_bytes = plan::expected(plan::bound_times(input.num_bytes, factor));
  input.most_rows = plan::bound_times(input.most_rows, factor);
  input.most_bytes = plan::bound_times(input.most_bytes, factor);
  return input;
}

plan::row_estimate limited(plan::row_estimate input, uint64_t limit, const record::row_type& type) {
  if (input.known && input.rows > limit) {
    input.num_bytes = input.num_bytes / input.rows * limit;
    input.rows = limit;
    input.exact = input.exact && !type.has_strings();
  }
  input.most_rows = std::min(input.most_rows, limit);
  if (!type.has_strings())
    input.most_bytes = std::min(input.most_bytes, plan::bound_times(input.most_rows, type.row_bytes()));
  return input;
}

plan::row_estimate skipped(plan::row_estimate input, uint64_t skip, const record::row_type& type) {
  if (skip == 0) return input;
  const uint64_t rows =
      input.rows >= plan::row_estimate::most_expected ? input.rows : input.rows - std::min(input.rows, skip);
  input.num_bytes = input.rows == 0 ? 0 : input.num_bytes / input.rows * rows;
  input.rows = rows;
  input.exact = input.exact && !type.has_strings();
  if (input.most_rows != plan::row_estimate::unbounded) input.most_rows -= std::min(input.most_rows, skip);
  if (!type.has_strings())
    input.most_bytes = std::min(input.most_bytes, plan::bound_times(input.most_rows, type.row_bytes()));
  return input;
}

plan::row_estimate of_text(uint64_t total_bytes, std::string_view sample, char line_end, uint64_t least_record_bytes,
                           const record::row_type& type) {
  plan::row_estimate out;
  out.known = true;
  out.most_rows = total_bytes / std::max<uint64_t>(least_record_bytes, 1) + 1;  // the last one may lack its end
  const uint64_t strings = num_strings(type);
  out.most_bytes = plan::bound_plus(plan::bound_times(out.most_rows, type.row_bytes()), strings > 0 ? total_bytes : 0);
  const size_t last_end = sample.rfind(line_end);
  if (last_end == std::string_view::npos) {
    // No record ends in the sample: it is the beginning of one long record, or the sample is empty.
    constexpr uint64_t assumed_record = 40;
    out.rows = total_bytes / std::max<uint64_t>(assumed_record, sample.size()) + 1;
  } else {
    const auto ends = static_cast<uint64_t>(std::count(sample.begin(), sample.end(), line_end));
    out.rows = static_cast<uint64_t>(static_cast<double>(total_bytes) / static_cast<double>(last_end + 1) *
                                     static_cast<double>(ends)) +
               1;
  }
  out.rows = std::min(out.rows, out.most_rows);
  // Columns that are not strings take their part of the text, too.
  const uint64_t text = strings == 0 ? 0 : total_bytes * strings / type.num_columns();
  out.num_bytes = std::min(out.rows * type.row_bytes() + text, out.most_bytes);
  return out;
}

}  // namespace flowrun::operators
