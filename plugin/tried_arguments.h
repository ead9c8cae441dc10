// What functions and aggregates of plugins are tried with: arguments of all types, constant and not, and odd values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/outside_function.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/value_type.h"

namespace flowrun::plugins {

// A value of an argument or of a result: a lane or a text.
struct odd_value {
  uint64_t lane = 0;
  std::string text;
  bool operator==(const odd_value&) const = default;
};

// NaN, empty and long texts, bytes that are no UTF-8, the ends of what a type holds.
class odd_values {
 public:
  explicit odd_values(uint64_t seed) : random_(seed) {}

  odd_value of(record::value_type type);
  // Small numbers, which may have a fraction, and short texts: what is odd may hide what is wrong with these.
  odd_value plain(record::value_type type);
  size_t below(size_t n) { return random_() % n; }

 private:
  uint64_t integer();
  double real();
  std::string text();

  std::mt19937_64 random_;
};

// Arguments of which some are constants.
struct tried_arguments {
  std::vector<record::value_type> types;
  std::vector<std::optional<odd_value>> constants;

  std::vector<expr::given_argument> given() const;   // refers to the constants
  std::string shown(const std::string& name) const;  // "encode(f64, f64, constant u64)"
};

// Calls `f` with n arguments of every type and constness, or as many as time allows.
void for_arguments(size_t n, odd_values& values, const std::function<void(const tried_arguments&)>& f);
constexpr size_t most_arguments = 4;  // more are tried with what fits them by chance

// Longer texts are refused while words are tried: some say with a number how long their text is.
constexpr uint64_t longest_tried_text = 256 * 1024;

// Values for `num_rows` rows, a list for each argument.
using odd_columns = std::vector<std::vector<odd_value>>;
odd_columns random_columns(const tried_arguments& arguments, odd_values& values, size_t num_rows, bool are_odd = true);

// The arguments of rows [from, from + count) as a call gets them. One row: all arguments are the same for all rows.
class tried_cells {
 public:
  tried_cells(const tried_arguments& arguments, const odd_columns& columns, size_t from, size_t count);
  const expr::text_operand* operands() const { return operands_.data(); }

 private:
  std::vector<std::vector<uint64_t>> lanes_;
  std::vector<std::vector<std::string_view>> texts_;
  std::vector<expr::text_operand> operands_;
};

}  // namespace flowrun::plugins
