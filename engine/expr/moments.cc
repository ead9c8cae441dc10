// avg, variance and stddev.
//
// Of integers, the count, the sum and the sum of squares are kept exactly (64, 128 and 192 bits), so that parts can be
// combined in any order and the result is a function of the values alone; what is rounded is the last division. Of
// floats, avg adds up row after row as sum does, and the variance is Welford's (Technometrics 4, 1962): these depend on
// the order of the rows, and can't be combined. Decimals are integers, until the last division.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/expr/lane.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/decimal_text.h"

namespace flowrun::expr {

namespace {

using lane::wide_lane;
using record::type_kind;
using record::value_type;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

// As many words as a number needs, the lowest first.
template <size_t Words>
using long_number = std::array<uint64_t, Words>;

template <size_t Words>
void add_to(long_number<Words>& sum, const long_number<Words>& more) {
  wide_lane carry = 0;
  for (size_t i = 0; i < Words; ++i) {
    carry += static_cast<wide_lane>(sum[i]) + more[i];
    sum[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

template <size_t A, size_t B>
long_number<4> product(const long_number<A>& a, const long_number<B>& b) {
  long_number<4> out{};
  for (size_t i = 0; i < A; ++i) {
    wide_lane carry = 0;
    for (size_t j = 0; i + j < 4; ++j) {
      carry += out[i + j];
      if (j < B) carry += static_cast<wide_lane>(a[i]) * b[j];
      out[i + j] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
  return out;
}

template <size_t Words>
long_number<Words> negative(long_number<Words> a) {
  for (uint64_t& word : a) word = ~word;
  add_to(a, {1});
  return a;
}

template <size_t Words>
double real(const long_number<Words>& a) {
  double out = 0;
  for (size_t i = Words; i-- > 0;) out = out * 0x1p64 + static_cast<double>(a[i]);
  return out;
}

// size / (count * unit), rounded once as long as count * unit, a power of ten, has 64 bits. The quotient then has 63
// bits or more, more than a double has, and the last of them also stands for what is left of the division.
double quotient(const long_number<2>& size, uint64_t count, double unit) {
  const wide_lane whole = (static_cast<wide_lane>(size[1]) << 64) | size[0];
  if (whole == 0) return 0;
  uint64_t divisor = 0;
  if (unit > 0x1p63 || __builtin_mul_overflow(count, static_cast<uint64_t>(unit), &divisor))
    return real(size) / (static_cast<double>(count) * unit);
  const int shift = size[1] != 0 ? std::countl_zero(size[1]) : 64 + std::countl_zero(size[0]);
  const wide_lane shifted = whole << shift;
  const wide_lane parts = shifted / divisor | (shifted % divisor != 0 ? 1 : 0);
  return std::ldexp(static_cast<double>(parts), -shift);
}

// The absolute value of a sum.
long_number<2> size_of(const long_number<2>& sum, bool is_signed) {
  return is_signed && (sum[1] & lane::sign_bit) != 0 ? negative(sum) : sum;
}

template <bool IsSigned>
struct integer_mean {
  static constexpr bool is_combinable = true;
  uint64_t count = 0;
  long_number<2> sum = {};

  void add(uint64_t value) {
    ++count;
    add_to(sum, {value, IsSigned ? lane::sign_mask(value) : 0});
  }
  void add(const integer_mean& other) {
    count += other.count;
    add_to(sum, other.sum);
  }
  double mean(double unit) const {
    if (count == 0) return nothing;
    const double size = quotient(size_of(sum, IsSigned), count, unit);
    return IsSigned && (sum[1] & lane::sign_bit) != 0 ? -size : size;
  }
};

template <bool IsSigned>
struct integer_variance {
  static constexpr bool is_combinable = true;
  integer_mean<IsSigned> first;
  long_number<3> squares = {};

  void add(uint64_t value) {
    first.add(value);
    const uint64_t size = IsSigned && (value & lane::sign_bit) != 0 ? 0 - value : value;
    const wide_lane square = static_cast<wide_lane>(size) * size;
    add_to(squares, {static_cast<uint64_t>(square), static_cast<uint64_t>(square >> 64), 0});
  }
  void add(const integer_variance& other) {
    first.add(other.first);
    add_to(squares, other.squares);
  }
  // (n Σx² - (Σx)²) / (n (n - 1)), exact up to the division.
  double variance(double unit) const {
    if (first.count < 2) return nothing;
    const long_number<2> size = size_of(first.sum, IsSigned);
    long_number<4> difference = product(squares, long_number<1>{first.count});
    add_to(difference, negative(product(size, size)));
    return real(difference) / (static_cast<double>(first.count) * unit) / (static_cast<double>(first.count - 1) * unit);
  }
};

struct float_mean {
  static constexpr bool is_combinable = false;
  uint64_t count = 0;
  double sum = 0;
  void add(uint64_t value) {
    ++count;
    sum += lane::f(value);
  }
  void add(const float_mean&) {}
  double mean(double) const { return count == 0 ? nothing : sum / static_cast<double>(count); }
};

struct float_variance {
  static constexpr bool is_combinable = false;
  uint64_t count = 0;
  double mean = 0, squares = 0;  // of differences to the mean
  void add(uint64_t value) {
    ++count;
    const double difference = lane::f(value) - mean;
    mean += difference / static_cast<double>(count);
    squares += difference * (lane::f(value) - mean);
  }
  void add(const float_variance&) {}
  double variance(double) const { return count < 2 ? nothing : squares / static_cast<double>(count - 1); }
};

// States are copied in and out: those that are combined lie at any address.
template <class State, class Result>
class moment final : public bound_aggregate {
 public:
  // `unit`: 10^S, of decimal[S].
  explicit moment(double unit) : unit_(unit) {}
  void start(std::byte* states, size_t num_states) const override {
    for (size_t k = 0; k < num_states; ++k) put({}, states + k * sizeof(State));
  }
  void update(const row_targets& to, const text_operand* args) const override {
    const auto* const lanes = static_cast<const uint64_t*>(args[0].data);
    for (size_t k = 0; k < to.num_states; ++k) {
      State state = at(to.states + k * sizeof(State));
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) state.add(lanes[row * args[0].step]);
      put(state, to.states + k * sizeof(State));
    }
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (size_t k = 0; k < to.num_states; ++k) {
      State state = at(to.states + k * sizeof(State));
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) state.add(at(from + row * step));
      put(state, to.states + k * sizeof(State));
    }
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    auto* const out = static_cast<uint64_t*>(call.out);
    for (size_t k = 0; k < call.num_rows; ++k) out[k] = lane::bits(Result{}(at(states + k * sizeof(State)), unit_));
    return call.num_rows;
  }

 private:
  static State at(const std::byte* from) {
    State state;
    std::memcpy(static_cast<void*>(&state), from, sizeof state);
    return state;
  }
  static void put(const State& state, std::byte* to) { std::memcpy(to, &state, sizeof state); }

  const double unit_;
};

struct mean_of {
  double operator()(const auto& state, double unit) const { return state.mean(unit); }
};
struct variance_of {
  double operator()(const auto& state, double unit) const { return state.variance(unit); }
};
struct deviation_of {
  double operator()(const auto& state, double unit) const { return std::sqrt(state.variance(unit)); }
};

template <class State, class Result>
aggregate_binding bound_to(value_type wanted, double unit = 1) {
  aggregate_binding out;
  out.result = value_type::of(type_kind::f64);
  out.wanted = {wanted};
  out.state_bytes = sizeof(State);
  out.is_combinable = State::is_combinable;
  out.is_ordered = !State::is_combinable;
  out.aggregate = std::make_shared<moment<State, Result>>(unit);
  return out;
}

template <class OfUnsigned, class OfSigned, class OfFloats, class Result>
std::variant<aggregate_binding, binding_fault> bind_moment(const std::vector<given_argument>& args) {
  const value_type type = args[0].type;
  if (type.is_float()) return bound_to<OfFloats, Result>(value_type::of(type_kind::f64));
  if (type.is_signed()) return bound_to<OfSigned, Result>(value_type::of(type_kind::i64));
  if (type.is_integer()) return bound_to<OfUnsigned, Result>(value_type::of(type_kind::u64));
  if (type.is_decimal())
    return bound_to<OfSigned, Result>(type, static_cast<double>(record::powers_of_ten[type.scale]));
  return binding_fault{0, fmt::format("this is {}", to_string(type)), "a number",
                       type.is_time()
                           ? "write avg(to_i64(x)), or avg(date_diff('second', from, to)) for lengths of time"
                       : type.is_boolean() ? "write u8(x) to count true as 1"
                                           : "write to_f64(x) to read numbers"};
}

template <class Result>
constexpr auto bind_variance = bind_moment<integer_variance<false>, integer_variance<true>, float_variance, Result>;

constexpr own_aggregate table[] = {
    {"avg", "avg(x) → f64", "The mean: of integers exact but for the last rounding, of floats sum(x) / count().", 1, 1,
     bind_moment<integer_mean<false>, integer_mean<true>, float_mean, mean_of>},
    {"variance", "variance(x) → f64", "The variance of a sample (divided by n - 1); NaN for fewer than two rows.", 1, 1,
     bind_variance<variance_of>},
    {"stddev", "stddev(x) → f64", "The standard deviation of a sample: the square root of variance(x).", 1, 1,
     bind_variance<deviation_of>},
};

}  // namespace

std::span<const own_aggregate> moment_aggregates() { return table; }

}  // namespace flowrun::expr
