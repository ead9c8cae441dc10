// Functions that make decimals, and what others do with decimals.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "engine/expr/decimals.h"
#include "engine/expr/function_table.h"
#include "engine/expr/lane.h"
#include "engine/record/decimal_text.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

const value_type i64 = value_type::of(type_kind::i64);

// The number of digits behind the point that argument `i` is.
std::optional<uint32_t> scale_of(const call_site& s, size_t i) {
  const node& n = *s.args[i];
  const bool is_known = is_known_integer(n);
  if (is_known && n.imm <= record::max_decimal_scale) return static_cast<uint32_t>(n.imm);
  s.fault(i, is_known ? fmt::format("{} digits behind the point", exact_value(n)) : "this is no constant integer",
          fmt::format("how many digits are behind the point: a constant from 0 to {}", record::max_decimal_scale),
          "it decides the type of the result");
  return {};
}

node_ptr to_decimal_function(const call_site& s) {
  const auto scale = scale_of(s, 1);
  const node_ptr& x = s.args[0];
  if (!x->type.is_number() && !x->type.is_decimal() && !x->type.is_text())
    return s.fault(0, fmt::format("this is {}", to_string(x->type)), "a number or a text",
                   x->type.is_boolean() ? "write u8(x) to count true as 1" : "write to_i64(x) for its number");
  if (!scale) return nullptr;
  if (node_ptr decimal = to_scale(x, *scale)) return decimal;
  const value_type type = value_type::decimal(*scale);
  const bool is_constant_text = x->op == opcode::text_constant && x->known;
  if (x->type.is_text() && !is_constant_text) return op_node(opcode::text_to_decimal, type, {x}, *scale);
  if (auto no = decimal_misfit(*x, type)) return s.fault(0, no->message, no->expected, no->hint);
  return s.fault(0, fmt::format("this number does not fit in {}", to_string(type)), record::decimal_range(*scale));
}

node_ptr is_decimal_function(const call_site& s) {
  const auto scale = scale_of(s, 1);
  const bool is_text = s.require_text(0);
  if (!scale || !is_text) return nullptr;
  return op_node(opcode::is_decimal, value_type::of(type_kind::boolean), {s.args[0]}, *scale);
}

constexpr function table[] = {
    {"to_decimal", "to_decimal(x, n) → decimal[n]",
     "The number with n digits behind the point, a constant from 0 to 18: rounded where it has more, halves away from "
     "0. A float is what its bits exactly are: one that was read from 2.675 is a little less and becomes 2.67, while "
     "the literal 2.675 and the text '2.675' become 2.68. Of a text 0 if it is none or too large (is_decimal); of a "
     "number that is too large the job ends.",
     2, 2, to_decimal_function},
    {"is_decimal", "is_decimal(text, n) → bool",
     "Whether the text is a number such as -12.50 that has at most n digits behind the point (zeros at its end aside) "
     "and fits.",
     2, 2, is_decimal_function},
};

node_ptr scaled_up(const call_site& s, const node_ptr& value, uint64_t unit) {
  try {
    return op_node(opcode::mul_decimal, value->type, {value, number_node(i64, unit)});
  } catch (const call_failed& no) {
    return s.fault(0, no.what());
  }
}

// To the nearest of what doesn't fit in an i64, units of 10^`dropped`: `dropped` is 19 or more.
node_ptr rounded_to_beyond_i64(const call_site& s, value_type type, int64_t dropped) {
  constexpr int64_t half = 5 * record::powers_of_ten[record::max_decimal_scale];
  static_assert(half > std::numeric_limits<int64_t>::max() / 2);
  const node_ptr& x = s.args[0];
  // Of the next units every decimal is less than half.
  if (dropped > record::max_decimal_scale + 1) return number_node(type, 0);
  const node_ptr nearest = op_node(opcode::div_i, type, {x, number_node(i64, half)});
  const int64_t zeros = dropped - x->type.scale;  // of the unit, in units of `type`: 1 to 19
  const node_ptr tens = scaled_up(s, nearest, static_cast<uint64_t>(record::powers_of_ten[zeros - 1]));
  return scaled_up(s, tens, 10);
}

}  // namespace

std::span<const function> decimal_functions() { return table; }

node_ptr rounded_decimal(const call_site& s, rounding how) {
  const node_ptr& x = s.args[0];
  int64_t digits = 0;
  if (s.args.size() > 1) {
    if (!s.require_signed(1)) return nullptr;
    if (!is_known_integer(*s.args[1]))
      return s.fault(1, "this is no constant", "a constant number of digits",
                     "it decides the type of a rounded decimal; f64(x) can be rounded to any");
    // Beyond these nothing changes.
    constexpr exact_number most = 40;
    digits = static_cast<int64_t>(std::clamp(exact_value(*s.args[1]), -most, most));
  }
  const auto scale = int64_t{x->type.scale};
  if (digits >= scale) return x;
  const value_type type = value_type::decimal(static_cast<uint32_t>(std::max<int64_t>(digits, 0)));
  const int64_t dropped = scale - digits;
  if (dropped > record::max_decimal_scale)
    return how == rounding::nearest ? rounded_to_beyond_i64(s, type, dropped) : number_node(type, 0);
  const auto unit = static_cast<uint64_t>(record::powers_of_ten[static_cast<size_t>(dropped)]);
  const node_ptr by = number_node(i64, unit);
  node_ptr out;
  switch (how) {
    case rounding::nearest: out = op_node(opcode::round_decimal, type, {x}, unit); break;
    case rounding::toward_zero: out = op_node(opcode::div_i, type, {x, by}); break;
    case rounding::down: out = op_node(opcode::floor_div_i, type, {x, by}); break;
    case rounding::up: {
      const node_ptr rest = op_node(opcode::floor_mod_i, i64, {x, by});
      const node_ptr has_rest = op_node(opcode::ne, i64, {rest, number_node(i64, 0)});
      out = op_node(opcode::add, type, {op_node(opcode::floor_div_i, type, {x, by}), has_rest});
      break;
    }
  }
  return digits >= 0 ? out
                     : scaled_up(s, out, static_cast<uint64_t>(record::powers_of_ten[static_cast<size_t>(-digits)]));
}

node_ptr absolute_decimal(const call_site& s) {
  const node_ptr& x = s.args[0];
  const node_ptr negative = negative_decimal(x);
  if (negative == nullptr) return s.fault(0, "its absolute value does not fit", record::decimal_range(x->type.scale));
  return op_node(opcode::max_i, x->type, {x, negative});
}

}  // namespace flowrun::expr
