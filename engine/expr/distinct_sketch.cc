// approx_count_distinct: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007), 4,096 registers of a byte with 64-bit
// hashes, and the estimator of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017, algorithm
// 6), which needs no corrections for small and large numbers. The standard error is 1.04 / sqrt(4096) = 1.6 %.
//
// A register is the largest rank that it has seen, so the state is a function of the set of values.
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "engine/expr/lane.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

constexpr size_t index_bits = 12;
constexpr size_t num_registers = size_t{1} << index_bits;
constexpr size_t most_rank = 64 - index_bits + 1;

void add_hash(std::byte* registers, uint64_t hash) {
  const size_t index = hash >> (64 - index_bits);
  const uint64_t rest = hash << index_bits;
  const size_t rank = rest == 0 ? most_rank : static_cast<size_t>(__builtin_clzll(rest)) + 1;
  registers[index] = std::max(registers[index], static_cast<std::byte>(rank));
}

double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1, z = x, before = -1;
  while (z != before) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before = -1;
  while (z != before) {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

uint64_t estimate(const std::byte* registers) {
  std::array<size_t, most_rank + 1> with_rank{};
  for (size_t i = 0; i < num_registers; ++i) ++with_rank[std::min(static_cast<size_t>(registers[i]), most_rank)];
  constexpr double m = num_registers, log_of_2 = 0x1.62e42fefa39efp-1;
  double z = m * tau(1 - static_cast<double>(with_rank[most_rank]) / m);
  for (size_t rank = most_rank - 1; rank >= 1; --rank) z = 0.5 * (z + static_cast<double>(with_rank[rank]));
  z += m * sigma(static_cast<double>(with_rank[0]) / m);
  return static_cast<uint64_t>(std::round(m * m / (2 * log_of_2 * z)));
}

class distinct_sketch final : public bound_aggregate {
 public:
  explicit distinct_sketch(value_type wanted) : wanted_(wanted) {}

  void start(std::byte* states, size_t num_states) const override {
    std::memset(states, 0, num_states * num_registers);
  }
  void update(const row_targets& to, const text_operand* args) const override {
    for (size_t k = 0; k < to.num_states; ++k)
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row)
        add_hash(to.states + k * num_registers, hash_of(args[0], row));
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (size_t k = 0; k < to.num_states; ++k)
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row)
        for (size_t i = 0; i < num_registers; ++i) {
          std::byte& mine = to.states[k * num_registers + i];
          mine = std::max(mine, from[row * step + i]);
        }
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    for (size_t k = 0; k < call.num_rows; ++k)
      static_cast<uint64_t*>(call.out)[k] = estimate(states + k * num_registers);
    return call.num_rows;
  }

 private:
  uint64_t hash_of(const text_operand& arg, uint32_t row) const {
    if (wanted_.is_text()) {
      const std::string_view text = static_cast<const std::string_view*>(arg.data)[row * arg.step];
      return XXH3_64bits(text.data(), text.size());
    }
    // Equal as keys are: by their bits (decision D15).
    return lane::mix(lane::mix(static_cast<const uint64_t*>(arg.data)[row * arg.step]));
  }
  const value_type wanted_;
};

std::variant<aggregate_binding, binding_fault> bind_distinct(const std::vector<given_argument>& args) {
  const value_type type = args[0].type;
  const type_kind wanted = type.is_text()      ? type_kind::string
                           : type.is_float()   ? type_kind::f64
                           : type.is_boolean() ? type_kind::boolean
                           : type.is_time()    ? type.kind
                           : type.is_signed()  ? type_kind::i64
                                               : type_kind::u64;
  aggregate_binding out;
  out.result = value_type::of(type_kind::u64);
  out.wanted = {value_type::of(wanted)};
  out.state_bytes = num_registers;
  out.is_combinable = true;
  out.aggregate = std::make_shared<distinct_sketch>(out.wanted[0]);
  return out;
}

constexpr own_aggregate table[] = {
    {"approx_count_distinct", "approx_count_distinct(x) → u64",
     "About how many different values there are: in two of three cases within 1.6 % (HyperLogLog, 4 KiB a group). "
     "For the exact number, sort by the keys and x with `unique: true`, and count().",
     1, 1, bind_distinct},
};

}  // namespace

std::span<const own_aggregate> distinct_aggregates() { return table; }

}  // namespace flowrun::expr
