#include "engine/expr/aggregate_call.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/base/error.h"
#include "engine/expr/coerce.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/text_kernels.h"

namespace flowrun::expr {

namespace {

std::vector<node_ptr> roots_of(const std::vector<expression>& values) {
  std::vector<node_ptr> out;
  for (const expression& value : values) out.push_back(value.root());
  return out;
}

// Starts a state for each row of a chunk, and gives it the row.
class one_row_states final : public bound_call {
 public:
  one_row_states(std::shared_ptr<const bound_aggregate> aggregate, uint32_t state_bytes)
      : aggregate_(std::move(aggregate)), state_bytes_(state_bytes) {}

  size_t run(const text_call& call) const override {
    constexpr size_t alignment = bound_aggregate::state_alignment;
    // Wide states end the chunk early.
    const uint64_t room = std::min<uint64_t>(most_bytes, call.arena->longest());
    const size_t fit = room < alignment ? 1 : static_cast<size_t>((room - alignment) / state_bytes_);
    const size_t num_rows = std::clamp<size_t>(fit, 1, std::min(call.num_rows, most_rows));
    char* const taken = call.arena->take(num_rows * state_bytes_ + alignment);
    auto* const states =
        reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(taken) + alignment - 1) / alignment * alignment);
    aggregate_->start(states, num_rows);
    aggregate_->update({states, num_rows, one_each.data()}, call.args);
    auto* const out = static_cast<std::string_view*>(call.out);
    for (size_t i = 0; i < num_rows; ++i)
      out[i] = {reinterpret_cast<const char*>(states) + i * state_bytes_, state_bytes_};
    return num_rows;
  }

 private:
  static constexpr size_t most_rows = 1024;
  static constexpr size_t most_bytes = 256 * 1024;
  static constexpr std::array<uint32_t, most_rows + 1> one_each = [] {
    std::array<uint32_t, most_rows + 1> out{};
    std::iota(out.begin(), out.end(), 0U);
    return out;
  }();

  std::shared_ptr<const bound_aggregate> aggregate_;
  const size_t state_bytes_;
};

bool is_same(const aggregate_binding& a, const aggregate_binding& b) {
  return a.result == b.result && a.wanted == b.wanted && a.state_bytes == b.state_bytes &&
         a.is_combinable == b.is_combinable && a.is_ordered == b.is_ordered;
}

}  // namespace

std::variant<aggregate_call, binding_fault> make_aggregate_call(const outside_aggregate& function,
                                                                std::vector<expression> given) {
  std::vector<node_ptr> roots = roots_of(given);
  std::variant<aggregate_binding, binding_fault> bound;
  const auto bind = [&] {
    bind_arguments(roots, [&](const std::vector<given_argument>& args) { bound = function.bind(args); });
  };
  bind();
  if (const auto* b = std::get_if<aggregate_binding>(&bound); b != nullptr && texts_as_times(roots, b->wanted)) bind();
  if (auto* fault = std::get_if<binding_fault>(&bound)) return std::move(*fault);
  aggregate_call call;
  call.function = &function;
  call.bound = std::get<aggregate_binding>(std::move(bound));
  auto converted = converted_arguments(roots, call.bound.wanted);
  if (auto* fault = std::get_if<binding_fault>(&converted)) return std::move(*fault);
  for (size_t i = 0; i < given.size(); ++i) {
    const record::value_type from = given[i].type(), to = call.bound.wanted[i];
    const bool widens = from.is_decimal() ? from == to : lane_kind_of(from) == lane_kind_of(to);
    call.arguments.push_back(widens ? given[i]
                                    : expression(std::get<std::vector<node_ptr>>(converted)[i], given[i].text()));
  }
  call.given = std::move(given);
  return call;
}

void aggregate_call::bind(const scalar_values& values) {
  std::vector<expression> now = given;
  expr::bind(now, values);
  if (roots_of(now) == roots_of(given)) return;
  auto made = make_aggregate_call(*function, std::move(now));
  if (const auto* fault = std::get_if<binding_fault>(&made)) refuse_binding(function->help().name, *fault);
  aggregate_call& again = std::get<aggregate_call>(made);
  if (!is_same(again.bound, bound))
    internal_error(function->help().name + " is bound to something else for a value than before");
  *this = std::move(again);
}

expression aggregate_call::state_of_row() const {
  std::vector<node_ptr> args;
  std::string written = function->help().name + "(";
  for (size_t i = 0; i < arguments.size(); ++i) {
    args.push_back(convert(arguments[i].root(), bound.wanted[i]));
    written += (i > 0 ? ", " : "") + arguments[i].text();
  }
  auto call = std::make_shared<outside_call>();
  call->bound = std::make_shared<one_row_states>(bound.aggregate, bound.state_bytes);
  const node_ptr text = call_node(std::move(call), record::value_type::of(record::type_kind::string), std::move(args));
  return {retype_node(text, record::value_type::fixed_bytes(bound.state_bytes)), written + ")"};
}

}  // namespace flowrun::expr
