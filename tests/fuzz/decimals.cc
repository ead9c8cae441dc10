// Decimals: texts and numbers. An input is a scale, a number, and a text.
//
// What is read is written, and read again as the same; what is refused has a reason, and a rounded reading that is off
// by at most half a unit. Numbers are computed as numbers of 128 bits are, or end in an error.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "engine/expr/decimal_lane.h"
#include "engine/expr/exact.h"
#include "engine/expr/outside_function.h"
#include "engine/record/decimal_text.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using expr::exact_number;
using record::decimal_reading;

void look_at_text(std::string_view given, uint32_t scale) {
  // As many bytes as there are, so that a step beyond them is seen.
  const auto bytes = std::make_unique<char[]>(given.size());
  given.copy(bytes.get(), given.size());
  const std::string_view text(bytes.get(), given.size());
  int64_t units = 0, rounded = 0, again = 0;
  const decimal_reading how = record::read_decimal(text, scale, units);
  const decimal_reading near = record::read_decimal(text, scale, rounded, true);
  must_hold(record::why_no_decimal(text, scale).empty() == (how == decimal_reading::done), "a reason against '{}'",
            text);
  must_hold((how == decimal_reading::no_number) == (near == decimal_reading::no_number), "'{}' is a number", text);
  if (how != decimal_reading::done) return;
  must_hold(near == decimal_reading::done && rounded == units, "'{}' is rounded to {}", text, rounded);
  const std::string written = record::decimal_text(units, scale);
  must_hold(record::read_decimal(written, scale, again) == decimal_reading::done && again == units,
            "'{}' is written as '{}'", text, written);
}

void look_at_number(int64_t number, uint32_t scale) {
  const std::string text = record::decimal_text(number, scale);
  int64_t again = 0;
  must_hold(text.size() <= record::max_decimal_chars, "'{}' is long", text);
  must_hold(record::read_decimal(text, scale, again) == decimal_reading::done && again == number, "'{}'", text);
  const auto unit = static_cast<uint64_t>(record::powers_of_ten[scale]);
  const double real = expr::lane::f(expr::decimal_lane::to_f(static_cast<uint64_t>(number), unit));
  must_hold(real == std::strtod(text.c_str(), nullptr), "'{}' becomes {}", text, real);
}

// What `compute` gives is `expected`, or it fails because that doesn't fit.
template <class Compute>
void must_be(exact_number expected, Compute compute) {
  const bool fits = expected >= INT64_MIN && expected <= INT64_MAX;
  try {
    const auto out = static_cast<int64_t>(compute());
    must_hold(fits && out == expected, "{} where it is {}", out, expected);
  } catch (const expr::call_failed&) {
    must_hold(!fits, "{} fits", expected);
  }
}

void look_at_numbers(int64_t a, int64_t b, uint32_t scale) {
  namespace lane = expr::decimal_lane;
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  must_be(exact_number{a} + b, [&] { return lane::add(x, y); });
  must_be(exact_number{a} - b, [&] { return lane::sub(x, y); });
  must_be(exact_number{a} * b, [&] { return lane::mul(x, y); });
  const exact_number unit = record::powers_of_ten[scale];
  const exact_number size = a < 0 ? -exact_number{a} : exact_number{a};
  const exact_number near = (2 * size + unit) / (2 * unit);
  must_be(a < 0 ? -near : near, [&] { return lane::rounded(x, static_cast<uint64_t>(unit)); });
  // Any bits are a double; what fits is off by at most half a unit and what a double loses.
  const double real = expr::lane::f(x);
  try {
    const auto units = static_cast<int64_t>(lane::of_f(x, static_cast<uint64_t>(unit)));
    const long double exact = static_cast<long double>(real) * static_cast<long double>(unit);
    must_hold(std::abs(static_cast<long double>(units) - exact) <= 0.5L + std::abs(exact) * 1e-18L, "{} becomes {}",
              real, units);
  } catch (const expr::call_failed&) {
    must_hold(!(std::abs(real) < 9.2e18 / static_cast<double>(unit)), "{} fits in {} digits", real, scale);
  }
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const auto scale = static_cast<uint32_t>(in.number() % (record::max_decimal_scale + 1));
  const auto a = static_cast<int64_t>(in.number()), b = static_cast<int64_t>(in.number());
  look_at_text(in.rest(), scale);
  look_at_number(a, scale);
  look_at_numbers(a, b, scale);
}

}  // namespace flowrun::fuzz
