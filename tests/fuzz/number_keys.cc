// Keys of numbers in text (sort -n, -h, -g, -M): their bytes have the order of the numbers, of which a plain comparison
// of two texts is written down here. An input is texts, one in a line.
#include "engine/expr/number_keys.h"

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

int sign(int64_t x) { return x < 0 ? -1 : x > 0 ? 1 : 0; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits as they are written: sign, before and behind the point.
struct number {
  bool negative = false;
  std::string whole, fraction;
  char unit = 0;  // behind them
  bool is_zero() const { return whole.empty() && fraction.empty(); }
};

number read(std::string_view text) {
  number out;
  size_t i = 0;
  while (i < text.size() && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n')) ++i;
  if (i < text.size() && text[i] == '-') out.negative = true, ++i;
  for (; i < text.size() && is_digit(text[i]); ++i)
    if (!out.whole.empty() || text[i] != '0') out.whole += text[i];
  if (i < text.size() && text[i] == '.')
    for (++i; i < text.size() && is_digit(text[i]); ++i) out.fraction += text[i];
  while (out.fraction.ends_with('0')) out.fraction.pop_back();
  if (i < text.size()) out.unit = text[i];
  return out;
}

int compare_magnitudes(const number& a, const number& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() < b.whole.size() ? -1 : 1;
  if (a.whole != b.whole) return sign(a.whole.compare(b.whole));
  return sign(a.fraction.compare(b.fraction));
}

int compare_decimals(const number& a, const number& b) {
  const int of_a = a.is_zero() ? 0 : a.negative ? -1 : 1, of_b = b.is_zero() ? 0 : b.negative ? -1 : 1;
  if (of_a != of_b) return sign(of_a - of_b);
  return of_a == 0 ? 0 : of_a * compare_magnitudes(a, b);
}

int unit_of(const number& x) {
  if (x.is_zero()) return 0;
  const size_t at = std::string_view("KMGTPEZY").find(x.unit == 'k' ? 'K' : x.unit);
  const int order = at == std::string_view::npos || x.unit == 0 ? 0 : static_cast<int>(at) + 1;
  return x.negative ? -order : order;
}

// Of a size: sign, then unit, then number.
int compare_sizes(const number& a, const number& b) {
  const int of_a = a.is_zero() ? 0 : a.negative ? -1 : 1, of_b = b.is_zero() ? 0 : b.negative ? -1 : 1;
  if (of_a != of_b) return sign(of_a - of_b);
  if (unit_of(a) != unit_of(b)) return sign(unit_of(a) - unit_of(b));
  return compare_decimals(a, b);
}

struct real {
  int kind = 0;  // none, NaN, a number
  long double value = 0;
};
real read_real(const std::string& text) {
  char* end = nullptr;
  const long double value = std::strtold(text.c_str(), &end);
  if (end == text.c_str()) return {};
  if (std::isnan(value)) return {1, 0};
  return {2, value};
}
int compare_reals(const real& a, const real& b) {
  if (a.kind != b.kind) return sign(a.kind - b.kind);
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}

struct entry {
  std::string text;
  std::string decimal, size, real_bytes;
  number as_number;
  real as_real;
};

entry entry_of(std::string_view text) {
  entry out;
  out.text = text;
  out.as_number = read(text);
  out.as_real = read_real(out.text);
  // No byte more than the bounds say.
  std::vector<char> key(expr::decimal_key_bound(text) + 1);
  std::vector<char> decimal(expr::decimal_key_bound(text));
  out.decimal.assign(decimal.data(), expr::write_decimal_key(text, decimal.data()));
  out.size.assign(key.data(), expr::write_size_key(text, key.data()));
  std::vector<char> fixed(expr::real_key_bytes);
  expr::write_real_key(text, fixed.data());
  out.real_bytes.assign(fixed.data(), fixed.size());
  must_hold(expr::month_number(text) <= 12, "'{}' is month {}", text, expr::month_number(text));
  return out;
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  std::vector<entry> all;
  while (!in.empty() && all.size() < 12) all.push_back(entry_of(in.take_until('\n')));
  for (const entry& a : all)
    for (const entry& b : all) {
      must_hold(sign(a.decimal.compare(b.decimal)) == compare_decimals(a.as_number, b.as_number),
                "'{}' and '{}' as decimals", a.text, b.text);
      must_hold(sign(a.size.compare(b.size)) == compare_sizes(a.as_number, b.as_number), "'{}' and '{}' as sizes",
                a.text, b.text);
      must_hold(sign(a.real_bytes.compare(b.real_bytes)) == compare_reals(a.as_real, b.as_real),
                "'{}' and '{}' as reals", a.text, b.text);
    }
}

}  // namespace flowrun::fuzz
