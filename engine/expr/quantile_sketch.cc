// approx_quantile: the value at a place of the sorted values. A state has the values themselves until they are too
// many; from there on it counts them in buckets.
//
// A bucket is an exponent with the first bits of a mantissa (HdrHistogram has such buckets), with all of them at first.
// There is a window of 2,048 buckets for each sign; where values lie too far apart for it, neighbouring buckets become
// one, all at once (Epicoco, Melle, Cafaro, Pulimeno, "UDDSketch: Accurate Tracking of Quantiles in Data Streams",
// 2020), and so on until they fit. How often depends on the smallest and the largest value only, so the result is a
// function of the values, in whatever order and parts they came. And it is as fine as they lie close together: years,
// quantities, or times of one week, which differ by little in proportion to what they are.
//
// A bucket stands for its middle, and for a whole number where there have only been whole numbers: one that holds a
// single whole number is exact.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/expr/lane.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

constexpr size_t num_buckets = 2048;  // of a window: a power of two
constexpr size_t most_values = 4096;  // that a state has themselves

// Bits that are ordered as a sort orders floats (decision D15).
uint64_t ordered(double value) {
  const uint64_t bits = lane::bits(value);
  return bits ^ (lane::sign_mask(bits) | lane::sign_bit);
}
double value_of(uint64_t ordered_bits) {
  return lane::f(ordered_bits ^ (lane::sign_mask(~ordered_bits) | lane::sign_bit));
}

// Where the words of a state are. Of counted values: how many are no usual numbers, whether one of the others is no
// whole number, and the least and the largest of these.
enum place : size_t {
  count_word,
  is_counting_word,
  low_nan,
  low_infinity,
  zero,
  high_infinity,
  high_nan,
  has_fractions,
  least,
  most
};
enum window_name : size_t { negative, positive };
enum window_part : size_t { used, level_of, first, last };
constexpr size_t windows_word = most + 1;
constexpr size_t num_header_words = windows_word + 8;
constexpr size_t num_words = num_header_words + most_values;
static_assert(most_values == 2 * num_buckets);

// The buckets of a window lie in a ring.
size_t bin(window_name w, uint64_t bucket) { return num_header_words + w * num_buckets + bucket % num_buckets; }

// A state, at any address.
class sketch_view {
 public:
  explicit sketch_view(const std::byte* at) : at_(at) {}

  uint64_t word(size_t i) const {
    uint64_t out;
    std::memcpy(&out, at_ + i * sizeof out, sizeof out);
    return out;
  }
  uint64_t word(window_name w, window_part p) const { return word(windows_word + 4 * w + p); }

  // The values themselves, ordered(), of a state that doesn't count yet.
  std::vector<uint64_t> values() const {
    std::vector<uint64_t> out(word(count_word));
    if (!out.empty()) std::memcpy(out.data(), at_ + num_header_words * sizeof(uint64_t), out.size() * sizeof(uint64_t));
    return out;
  }

  double quantile(double q) const {
    const uint64_t count = word(count_word);
    if (count == 0) return std::numeric_limits<double>::quiet_NaN();
    const double place = q * static_cast<double>(count - 1);
    const double below = std::floor(place), part = place - below;
    const auto rank = std::min(static_cast<uint64_t>(below), count - 1);
    const auto [a, b] = values_at(rank, std::min(rank + 1, count - 1));
    if (!(part > 0) || a == b) return a;
    const double step = b - a;
    return std::isfinite(step) ? a + step * part : a * (1 - part) + b * part;
  }

 private:
  // Of two neighbours in the order of the values, or of one.
  std::pair<double, double> values_at(uint64_t rank, uint64_t next) const {
    if (word(is_counting_word) != 0) return {counted_at(rank), counted_at(next)};
    std::vector<uint64_t> all = values();
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(all.begin(), at, all.end());
    const uint64_t second = next == rank ? *at : *std::min_element(at + 1, all.end());
    return {value_of(*at), value_of(second)};
  }

  double counted_at(uint64_t rank) const {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const auto is_among = [&](uint64_t count) {
      if (rank < count) return true;
      rank -= count;
      return false;
    };
    if (is_among(word(low_nan))) return -nan;
    if (is_among(word(low_infinity))) return -infinity;
    const uint64_t num_others = word(low_nan) + word(low_infinity) + word(high_infinity) + word(high_nan);
    if (const uint64_t num_usual = word(count_word) - num_others; num_usual > 0) {
      if (rank == 0) return value_of(word(least));
      if (rank == num_usual - 1) return value_of(word(most));
    }
    if (word(negative, used) != 0)
      for (uint64_t b = word(negative, last) + 1; b-- > word(negative, first);)
        if (is_among(word(bin(negative, b)))) return middle(negative, b);
    if (is_among(word(zero))) return 0;
    if (word(positive, used) != 0)
      for (uint64_t b = word(positive, first); b <= word(positive, last); ++b)
        if (is_among(word(bin(positive, b)))) return middle(positive, b);
    return is_among(word(high_infinity)) ? infinity : nan;
  }

  // What a bucket stands for, as far as there are values there.
  double middle(window_name w, uint64_t bucket) const {
    const uint64_t shift = word(w, level_of);
    const uint64_t from = bucket << shift, to = from + ((uint64_t{1} << shift) - 1);  // the bits of the floats in it
    double size = lane::f(from + (to - from + 1) / 2);
    if (word(has_fractions) == 0) size = middle_whole(std::ceil(lane::f(from)), std::floor(lane::f(to)));
    return std::clamp(w == negative ? -size : size, value_of(word(least)), value_of(word(most)));
  }
  static double middle_whole(double from, double to) { return from + std::floor((to - from) / 2); }

  const std::byte* at_;
};

class sketch : public sketch_view {
 public:
  explicit sketch(std::byte* at) : sketch_view(at), at_(at) {}

  // What lies behind the header is read where it was written only.
  void start() { std::memset(at_, 0, num_header_words * sizeof(uint64_t)); }

  void add(double value) {
    const uint64_t count = word(count_word);
    set(count_word, count + 1);
    if (word(is_counting_word) != 0) return count_value(value);
    if (count < most_values) return set(num_header_words + count, ordered(value));
    begin_counting(count);
    count_value(value);
  }

  void add(const sketch_view& other) {
    if (other.word(is_counting_word) == 0) {
      for (const uint64_t v : other.values()) add(value_of(v));
      return;
    }
    if (word(is_counting_word) == 0) begin_counting(word(count_word));
    for (const place p : {count_word, low_nan, low_infinity, zero, high_infinity, high_nan})
      set(p, word(p) + other.word(p));
    set(has_fractions, word(has_fractions) | other.word(has_fractions));
    set(least, std::min(word(least), other.word(least)));
    set(most, std::max(word(most), other.word(most)));
    for (const window_name w : {negative, positive}) {
      if (other.word(w, used) == 0) continue;
      const uint64_t level = other.word(w, level_of);
      if (word(w, level_of) < level) widen_buckets(w, level - word(w, level_of));
      for (uint64_t b = other.word(w, first); b <= other.word(w, last); ++b)
        if (const uint64_t n = other.word(bin(w, b)); n > 0) count_in(w, b, level, n);
    }
  }

 private:
  void set(size_t i, uint64_t value) { std::memcpy(at_ + i * sizeof value, &value, sizeof value); }
  void set(window_name w, window_part p, uint64_t value) { set(windows_word + 4 * w + p, value); }

  void begin_counting(uint64_t count) {
    std::array<uint64_t, most_values> values;
    const size_t num_bytes = count * sizeof(uint64_t);
    std::memcpy(values.data(), at_ + num_header_words * sizeof(uint64_t), num_bytes);
    std::memset(at_ + num_header_words * sizeof(uint64_t), 0, most_values * sizeof(uint64_t));
    set(is_counting_word, 1);
    set(least, ordered(std::numeric_limits<double>::infinity()));
    set(most, ordered(-std::numeric_limits<double>::infinity()));
    for (size_t i = 0; i < count; ++i) count_value(value_of(values[i]));
  }

  void count_value(double value) {
    if (!std::isfinite(value)) {
      const bool low = std::signbit(value);
      const place p = std::isnan(value) ? (low ? low_nan : high_nan) : (low ? low_infinity : high_infinity);
      return set(p, word(p) + 1);
    }
    set(least, std::min(word(least), ordered(value)));
    set(most, std::max(word(most), ordered(value)));
    if (value == 0) return set(zero, word(zero) + 1);
    if (word(has_fractions) == 0 && std::trunc(value) != value) set(has_fractions, 1);
    count_in(value < 0 ? negative : positive, lane::bits(std::fabs(value)), 0, 1);
  }

  // `bucket` is one of `level`, which is at most the level of the window.
  void count_in(window_name w, uint64_t bucket, uint64_t level, uint64_t n) {
    uint64_t b = bucket >> (word(w, level_of) - level);
    const bool is_first = word(w, used) == 0;
    uint64_t from = is_first ? b : std::min(word(w, first), b);
    uint64_t to = is_first ? b : std::max(word(w, last), b);
    uint64_t levels = 0;
    while ((to >> levels) - (from >> levels) >= num_buckets) ++levels;
    if (levels > 0) {
      widen_buckets(w, levels);
      b >>= levels, from >>= levels, to >>= levels;
    }
    set(w, used, 1);
    set(w, first, from);
    set(w, last, to);
    set(bin(w, b), word(bin(w, b)) + n);
  }

  // Two neighbours become one, so many times.
  void widen_buckets(window_name w, uint64_t levels) {
    if (word(w, used) != 0) {
      std::array<uint64_t, num_buckets> wider{};
      for (uint64_t b = word(w, first); b <= word(w, last); ++b) wider[(b >> levels) % num_buckets] += word(bin(w, b));
      std::memcpy(at_ + bin(w, 0) * sizeof(uint64_t), wider.data(), sizeof wider);
    }
    set(w, first, word(w, first) >> levels);
    set(w, last, word(w, last) >> levels);
    set(w, level_of, word(w, level_of) + levels);
  }

  std::byte* at_;
};

constexpr size_t state_bytes = num_words * sizeof(uint64_t);

class quantile_sketch final : public bound_aggregate {
 public:
  quantile_sketch(type_kind numbers, double q) : numbers_(numbers), q_(q) {}

  void start(std::byte* states, size_t num_states) const override {
    for (size_t k = 0; k < num_states; ++k) sketch(states + k * state_bytes).start();
  }
  void update(const row_targets& to, const text_operand* args) const override {
    const auto* const lanes = static_cast<const uint64_t*>(args[0].data);
    for (size_t k = 0; k < to.num_states; ++k) {
      sketch state(to.states + k * state_bytes);
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) state.add(real(lanes[row * args[0].step]));
    }
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (size_t k = 0; k < to.num_states; ++k) {
      sketch state(to.states + k * state_bytes);
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) state.add(sketch_view(from + row * step));
    }
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    auto* const out = static_cast<uint64_t*>(call.out);
    for (size_t k = 0; k < call.num_rows; ++k) out[k] = lane::bits(sketch_view(states + k * state_bytes).quantile(q_));
    return call.num_rows;
  }

 private:
  double real(uint64_t value) const {
    if (numbers_ == type_kind::f64) return lane::f(value);
    return numbers_ == type_kind::i64 ? static_cast<double>(static_cast<int64_t>(value)) : static_cast<double>(value);
  }
  const type_kind numbers_;
  const double q_;
};

std::variant<aggregate_binding, binding_fault> bind_quantile(const std::vector<given_argument>& args) {
  const value_type type = args[0].type;
  const given_argument& q = args[1];
  if (!type.is_number() && !type.is_decimal())
    return binding_fault{0, fmt::format("this is {}", to_string(type)), "a number",
                         type.is_time()
                             ? "write approx_quantile(to_i64(x), q), and to_date(i64(…)) or to_timestamp(i64(…)) of it "
                               "in a map behind"
                         : type.is_boolean() ? "write u8(x) to count true as 1"
                                             : "write to_f64(x) to read numbers"};
  constexpr const char* wanted_q = "a number from 0 to 1, such as 0.5 for the median";
  if (!q.is_constant || !q.type.is_number())
    return binding_fault{
        1, q.is_constant ? fmt::format("this is {}", to_string(q.type)) : "this differs from row to row", wanted_q, {}};
  double value = 0;
  if (q.is_known)
    value = q.type.is_float()    ? lane::f(q.lane)
            : q.type.is_signed() ? static_cast<double>(static_cast<int64_t>(q.lane))
                                 : static_cast<double>(q.lane);
  if (!(value >= 0 && value <= 1)) return binding_fault{1, fmt::format("{} is no quantile", value), wanted_q, {}};
  const bool is_real = type.is_float() || type.is_decimal();
  const type_kind numbers = is_real ? type_kind::f64 : type.is_signed() ? type_kind::i64 : type_kind::u64;
  aggregate_binding out;
  out.result = value_type::of(type_kind::f64);
  out.wanted = {value_type::of(numbers), value_type::of(type_kind::f64)};
  out.state_bytes = state_bytes;
  out.is_combinable = true;
  out.aggregate = std::make_shared<quantile_sketch>(numbers, value);
  return out;
}

constexpr own_aggregate table[] = {
    {"approx_quantile", "approx_quantile(x, q) → f64",
     "The value that lies at the share q, from 0 to 1, of the sorted values: q = 0.5 gives the median. Between two "
     "values it takes a point in proportion. It is exact for up to 4,096 values; for q = 0 and q = 1; for whole "
     "numbers below 256; and for larger ones, such as years, if all are above 1,023 and differ by less than 1,024. "
     "Otherwise it is a little off. Values within a factor of 2 of each other, such as times of one year: by at most a "
     "thousandth of the difference between the largest and the smallest. Values of one sign within a factor of 65,000: "
     "by at most 0.4 % of the value; within a factor of 4 billion: 0.8 %, and so on. It takes up to 32 KiB for each "
     "group. Of no rows it is NaN.",
     2, 2, bind_quantile},
};

}  // namespace

std::span<const own_aggregate> quantile_aggregates() { return table; }

}  // namespace flowrun::expr
