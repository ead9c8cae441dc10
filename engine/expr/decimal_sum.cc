// sum, of decimals: in 128 bits, so that whether it fits in the end depends on the values alone, and not on which are
// added first.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/expr/exact.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_kernels.h"
#include "engine/record/decimal_text.h"

namespace flowrun::expr {

namespace {

using record::value_type;

class exact_sum final : public bound_aggregate {
 public:
  explicit exact_sum(value_type type) : type_(type) {}
  void start(std::byte* states, size_t num_states) const override { std::memset(states, 0, num_states * sizeof(sum)); }
  void update(const row_targets& to, const text_operand* args) const override {
    update_in_rows(to, static_cast<const std::byte*>(args[0].data), args[0].step * sizeof(uint64_t));
  }
  bool reads_rows() const override { return true; }
  void update_in_rows(const row_targets& to, const std::byte* field, size_t stride) const override {
    for (size_t k = 0; k < to.num_states; ++k)
      add(to, k, total(field + to.starts[k] * stride, stride, to.starts[k + 1] - to.starts[k]));
  }
  void combine(const row_targets& to, const std::byte* from, size_t step) const override {
    for (size_t k = 0; k < to.num_states; ++k)
      for (uint32_t row = to.starts[k]; row < to.starts[k + 1]; ++row) add(to, k, at(from + row * step));
  }
  size_t finish(const std::byte* states, const text_call& call) const override {
    auto* const out = static_cast<int64_t*>(call.out);
    for (size_t k = 0; k < call.num_rows; ++k) {
      const sum value = at(states + k * sizeof value);
      out[k] = static_cast<int64_t>(value);
      if (out[k] == value) continue;
      throw call_failed(
          {error_kind::bad_data,
           fmt::format("a sum of {} is not in the range {}", to_string(type_), record::decimal_range(type_.scale)),
           "add numbers with fewer digits behind the point, as in sum(round(x, 2)), or floats: "
           "sum(f64(x))"});
    }
    return call.num_rows;
  }

 private:
  using sum = exact_number;

  // The upper and the lower halves apart: of fewer than 2^31 values neither sum overflows, and no carry is waited for.
  static sum total(const std::byte* at, size_t stride, size_t count) {
    constexpr size_t most = size_t{1} << 30;
    sum out = 0;
    while (count > 0) {
      const size_t now = std::min(count, most);
      int64_t high = 0;
      uint64_t low = 0;
      for (size_t i = 0; i < now; ++i, at += stride) {
        int64_t units;
        std::memcpy(&units, at, sizeof units);
        high += units >> 32;
        low += static_cast<uint64_t>(units) & 0xFFFFFFFF;
      }
      out += sum{high} * (sum{1} << 32) + static_cast<sum>(low);
      count -= now;
    }
    return out;
  }
  static sum at(const std::byte* from) {
    sum out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  static void add(const row_targets& to, size_t k, sum more) {
    more += at(to.states + k * sizeof more);
    std::memcpy(to.states + k * sizeof more, &more, sizeof more);
  }

  const value_type type_;
};

class sum_of_decimals final : public outside_aggregate {
 public:
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return 1; }
  size_t max_args() const override { return 1; }
  std::variant<aggregate_binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    aggregate_binding out;
    out.result = args[0].type;
    out.wanted = {out.result};
    out.state_bytes = sizeof(exact_number);
    out.is_combinable = true;
    out.aggregate = std::make_shared<exact_sum>(out.result);
    return out;
  }

 private:
  function_help help_{"sum", "sum(x)", ""};
};

}  // namespace

const outside_aggregate& decimal_sum() {
  static const sum_of_decimals sum;
  return sum;
}

}  // namespace flowrun::expr
