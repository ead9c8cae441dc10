// HyperLogLog: how many different values there are, from some hundred bytes (Flajolet, Fusy, Gandouet and Meunier,
// 2007).
//
// A value is hashed to 64 bits. The first `precision` of them name a register, and the register keeps the largest
// number of zeros that it has seen in front of the rest, plus one. The estimate is the one of Ertl ("New cardinality
// estimation algorithms for HyperLogLog sketches", 2017, algorithm 6), which needs no tables and is good from 0 on; its
// standard error is 1.04 / sqrt(2^precision). Two sketches are combined by the larger of each two registers: in any
// order, and with the same bytes as one sketch of all values.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <flowrun/plugin.hpp>
#include <limits>
#include <string>
#include <string_view>

namespace {

constexpr uint64_t usual_precision = 10;

// The finalizer of splitmix64.
uint64_t hash_of(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27) * 0x94D049BB133111EB;
  return value ^ value >> 31;
}
uint64_t hash_of(int64_t value) { return hash_of(static_cast<uint64_t>(value)); }
uint64_t hash_of(double value) { return hash_of(std::bit_cast<uint64_t>(value == 0 ? 0.0 : value)); }
uint64_t hash_of(std::string_view text) {
  uint64_t hash = hash_of(text.size());
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t piece;
    std::memcpy(&piece, text.data(), sizeof piece);
    hash = hash_of(hash ^ piece);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, text.data(), text.size());
  return hash_of(hash ^ rest);
}

// A register is a byte.
struct sketch {
  uint64_t precision;
  size_t state_bytes() const { return size_t{1} << precision; }
};

sketch checked(uint64_t precision) {
  if (precision < 4 || precision > 16)
    throw fr::error(std::to_string(precision) + " is no precision of a sketch",
                    "it is from 4 (16 bytes, 26 % standard error) to 16 (64 KiB, 0.4 %)");
  return {precision};
}

template <class Value>
void add(const sketch& s, fr::bytes registers, Value value) {
  const uint64_t hash = hash_of(value);
  // A bit behind the last, so that there are never more than 64 - precision zeros.
  const uint64_t rest = hash << s.precision | uint64_t{1} << (s.precision - 1);
  unsigned char& at = registers[hash >> (64 - s.precision)];
  at = std::max(at, static_cast<unsigned char>(std::countl_zero(rest) + 1));
}

void combine(const sketch&, fr::bytes into, fr::const_bytes from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

// x + x^2 + 2 x^4 + 4 x^8 + …
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x, before = 0;
  for (double factor = 1; sum != before; factor *= 2) {
    x *= x;
    before = sum;
    sum += x * factor;
  }
  return sum;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x, before = 0;
  for (double factor = 0.5; sum != before; factor /= 2) {
    x = std::sqrt(x);
    before = sum;
    sum -= (1 - x) * (1 - x) * factor;
  }
  return sum / 3;
}

uint64_t estimate(const sketch& s, fr::const_bytes registers) {
  std::array<uint64_t, 66> count{};
  for (const unsigned char zeros : registers) ++count[std::min<size_t>(zeros, 65)];
  const auto m = static_cast<double>(registers.size());
  const size_t most = 64 - s.precision;
  double z = m * tau(1 - static_cast<double>(count[most + 1]) / m);
  for (size_t k = most; k > 0; --k) z = (z + static_cast<double>(count[k])) / 2;
  z += m * sigma(static_cast<double>(count[0]) / m);
  if (z == 0) return std::numeric_limits<uint64_t>::max();  // all registers are full
  return static_cast<uint64_t>(std::llround(m * m / (2 * std::log(2.0) * z)));
}

// distinct(x), and distinct(x, precision).
template <class Value>
void add_forms(fr::aggregate& to) {
  to.overload<fr::bytes>([] { return sketch{usual_precision}; },
                         [](const sketch& s, fr::bytes registers, Value value) { add(s, registers, value); }, combine,
                         estimate);
  to.overload<fr::bytes>(
      checked,
      [](const sketch& s, fr::bytes registers, Value value, fr::constant<uint64_t>) { add(s, registers, value); },
      combine, estimate);
}

}  // namespace

FLOWRUN_PLUGIN("sketch", "1.0.0") {
  fr::aggregate distinct("distinct");
  distinct.signature("distinct(x, precision = 10) → u64")
      .help(
          "About how many different values there are, from 2^precision bytes: the standard error is 1.04 / sqrt of "
          "that.");
  add_forms<uint64_t>(distinct);
  add_forms<int64_t>(distinct);
  add_forms<double>(distinct);
  add_forms<std::string_view>(distinct);
  plugin.add(distinct);
}
