// A bound call (outside_function.h) that is a function of one row: value(const row_args&) gives a lane or a text.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "engine/expr/outside_function.h"
#include "engine/expr/row_args.h"

namespace flowrun::expr {

template <class Value, bool GivesParts>
class row_call final : public bound_call {
 public:
  explicit row_call(Value value) : value_(std::move(value)) {}

  size_t run(const text_call& call) const override {
    using result = std::invoke_result_t<const Value&, const row_args&>;
    constexpr bool makes_text = std::is_same_v<result, std::string_view>;
    static_assert(makes_text || std::is_same_v<result, uint64_t>);
    auto* const out = static_cast<result*>(call.out);
    for (size_t i = 0; i < call.num_rows; ++i) {
      if (makes_text && i > 0 && call.arena->step_is_full()) return i;
      out[i] = value_(row_args(call, i));
    }
    return call.num_rows;
  }
  bool gives_parts() const override { return GivesParts; }

 private:
  const Value value_;
};

template <class Value>
std::shared_ptr<const bound_call> call_of_rows(Value value) {
  return std::make_shared<row_call<Value, false>>(std::move(value));
}
// All texts that it gives are parts of the first argument.
template <class Value>
std::shared_ptr<const bound_call> call_of_parts(Value value) {
  return std::make_shared<row_call<Value, true>>(std::move(value));
}

}  // namespace flowrun::expr
