#include "plugin/tried_arguments.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace flowrun::plugins {

namespace {

using record::type_kind;
using record::value_type;

constexpr type_kind wide_kinds[] = {type_kind::u64,    type_kind::i64,  type_kind::f64,      type_kind::boolean,
                                    type_kind::string, type_kind::date, type_kind::timestamp};
constexpr size_t most_combinations = 4000;

}  // namespace

odd_value odd_values::of(value_type type) {
  switch (type.kind) {
    case type_kind::boolean: return {random_() % 2, {}};
    case type_kind::f64: return {std::bit_cast<uint64_t>(real()), {}};
    case type_kind::string: return {0, text()};
    case type_kind::date: return {static_cast<uint64_t>(int64_t{static_cast<int32_t>(integer())}), {}};
    default: return {integer(), {}};
  }
}

odd_value odd_values::plain(value_type type) {
  const uint64_t number = random_() % 100'000;
  switch (type.kind) {
    case type_kind::boolean: return {number % 2, {}};
    case type_kind::f64: return {std::bit_cast<uint64_t>(static_cast<double>(number) / 1000 - 50), {}};
    case type_kind::string: return {0, std::to_string(number)};
    default: return {number, {}};
  }
}

uint64_t odd_values::integer() {
  constexpr uint64_t odd[] = {0, 1, 2, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, 1000};
  switch (random_() % 3) {
    case 0: return odd[random_() % std::size(odd)];
    case 1: return random_() % 100;
    default: return random_();
  }
}

double odd_values::real() {
  using limits = std::numeric_limits<double>;
  const double odd[] = {0.0,
                        -0.0,
                        1.0,
                        -1.0,
                        limits::infinity(),
                        -limits::infinity(),
                        limits::quiet_NaN(),
                        limits::max(),
                        limits::denorm_min()};
  if (random_() % 4 == 0) return odd[random_() % std::size(odd)];
  return (static_cast<double>(random_() % 200'001) - 100'000) / 1000;
}

std::string odd_values::text() {
  constexpr size_t lengths[] = {0, 1, 3, 8, 8, 12, 40, 5000};
  std::string out(lengths[random_() % std::size(lengths)], '\0');
  const bool is_plain = random_() % 3 != 0;
  for (char& c : out)
    c = static_cast<char>(is_plain ? "0123456789abcdefghijklmnopqrstuvwxyz,-. "[random_() % 40] : random_());
  return out;
}

std::vector<expr::given_argument> tried_arguments::given() const {
  std::vector<expr::given_argument> out;
  for (size_t i = 0; i < types.size(); ++i) {
    expr::given_argument a;
    a.type = types[i];
    a.is_constant = a.is_known = constants[i].has_value();
    if (constants[i]) {
      a.lane = constants[i]->lane;
      a.text = constants[i]->text;
    }
    out.push_back(a);
  }
  return out;
}

std::string tried_arguments::shown(const std::string& name) const {
  std::string out = name + "(";
  for (size_t i = 0; i < types.size(); ++i)
    out += (i > 0 ? ", " : "") + std::string(constants[i] ? "constant " : "") + to_string(types[i]);
  return out + ")";
}

void for_arguments(size_t n, odd_values& values, const std::function<void(const tried_arguments&)>& f) {
  size_t all = 1;
  for (size_t i = 0; i < n && all <= most_combinations; ++i) all *= 2 * std::size(wide_kinds);
  for (size_t c = 0; c < std::min(all, most_combinations); ++c) {
    size_t rest = all <= most_combinations ? c : values.below(std::numeric_limits<size_t>::max());
    tried_arguments arguments;
    for (size_t i = 0; i < n; ++i, rest /= 2 * std::size(wide_kinds)) {
      const auto type = value_type::of(wide_kinds[rest % std::size(wide_kinds)]);
      // Small values: most constants say how many, or which.
      odd_value constant = type.is_integer() ? odd_value{values.below(12) + 1, {}} : values.of(type);
      const bool is_constant = rest / std::size(wide_kinds) % 2 == 1;
      arguments.types.push_back(type);
      arguments.constants.push_back(is_constant ? std::optional(std::move(constant)) : std::nullopt);
    }
    f(arguments);
  }
}

odd_columns random_columns(const tried_arguments& arguments, odd_values& values, size_t num_rows, bool are_odd) {
  odd_columns out(arguments.types.size());
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t row = 0; row < num_rows; ++row)
      out[i].push_back(are_odd ? values.of(arguments.types[i]) : values.plain(arguments.types[i]));
  return out;
}

tried_cells::tried_cells(const tried_arguments& arguments, const odd_columns& columns, size_t from, size_t count)
    : lanes_(columns.size()), texts_(columns.size()) {
  for (size_t i = 0; i < columns.size(); ++i) {
    // What is the same for all rows is one cell.
    const bool once = arguments.constants[i].has_value() || count == 1;
    for (size_t row = 0; row < (once ? 1 : count); ++row) {
      const odd_value& v = arguments.constants[i] ? *arguments.constants[i] : columns[i][from + row];
      lanes_[i].push_back(v.lane);
      texts_[i].push_back(v.text);
    }
    const bool is_text = arguments.types[i].is_text();
    operands_.push_back({is_text ? static_cast<const void*>(texts_[i].data()) : lanes_[i].data(), once ? 0U : 1U});
  }
}

}  // namespace flowrun::plugins
