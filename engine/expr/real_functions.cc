// Functions of numbers whose results are real, or rounded, and words for numbers that are missing.
#include <fmt/format.h>

#include <limits>

#include "engine/expr/arithmetic.h"
#include "engine/expr/coerce.h"
#include "engine/expr/exact.h"
#include "engine/expr/function_table.h"
#include "engine/expr/lane.h"
#include "engine/expr/times.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

value_type type_of(type_kind kind) { return value_type::of(kind); }

template <opcode Op>
node_ptr real_function(const call_site& s) {
  if (!s.require_real(0)) return nullptr;
  return op_node(Op, type_of(type_kind::f64), {to_real(s.args[0])});
}

node_ptr pow_function(const call_site& s) {
  const bool base = s.require_real(0), exponent = s.require_real(1);
  if (!base || !exponent) return nullptr;
  return op_node(opcode::pow_f, type_of(type_kind::f64), {to_real(s.args[0]), to_real(s.args[1])});
}

node_ptr round_function(const call_site& s) {
  if (s.args[0]->type.is_decimal()) return rounded_decimal(s, rounding::nearest);
  if (s.args.size() == 1) return real_function<opcode::round_f>(s);
  const bool number = s.require_number(0), digits = s.require_signed(1);
  if (!number || !digits) return nullptr;
  return op_node(opcode::round_to, type_of(type_kind::f64), {to_real(s.args[0]), as_count(s.args[1])});
}

node_ptr trunc_function(const call_site& s) {
  if (s.args[0]->type.is_decimal()) return rounded_decimal(s, rounding::toward_zero);
  if (s.args.size() == 1) return real_function<opcode::trunc_f>(s);
  if (!s.require_number(0)) return nullptr;
  return s.fault(1, fmt::format("{} is cut to a whole number only", to_string(s.args[0]->type)), "trunc(x)",
                 "write round(x, n), or trunc(x * 100) / 100 for two digits behind the point");
}

node_ptr sign_function(const call_site& s) {
  if (!s.require_real(0)) return nullptr;
  const node_ptr& x = s.args[0];
  const value_type result = type_of(type_kind::i64);
  if (x->type.is_float()) return op_node(opcode::sign_f, result, {x});
  if (x->type.has_sign()) return op_node(opcode::sign_i, result, {x});
  if (is_unsigned_difference(*x)) return s.fault(0, unsigned_difference, {}, signed_difference_hint);
  return op_node(opcode::min_u, result, {x, number_node(type_of(type_kind::u64), 1)});
}

struct division_ops {
  opcode of_unsigned, of_signed, of_real;
};

node_ptr floor_division(const call_site& s, const division_ops& ops) {
  const bool first = s.require_number(0), second = s.require_number(1);
  if (!first || !second) return nullptr;
  const node_ptr &a = s.args[0], &b = s.args[1];
  const std::optional<lane_kind> kind = common_kind({a, b});
  if (!kind)
    return s.fault(1, fmt::format("{} and {}: no integer type holds both", to_string(a->type), to_string(b->type)),
                   "both signed, or both unsigned", common_kind_hint({a, b}));
  const opcode op = *kind == lane_kind::real             ? ops.of_real
                    : *kind == lane_kind::signed_integer ? ops.of_signed
                                                         : ops.of_unsigned;
  const node_ptr result = op_node(op, wide_type(*kind), {to_kind(a, *kind), to_kind(b, *kind)});
  const bool literals = a->literal && b->literal && is_known_integer(*a) && is_known_integer(*b);
  return literals ? literal_node(exact_value(*result)) : result;
}
node_ptr floor_div_function(const call_site& s) {
  return floor_division(s, {opcode::div_u, opcode::floor_div_i, opcode::floor_div_f});
}
node_ptr floor_mod_function(const call_site& s) {
  return floor_division(s, {opcode::rem_u, opcode::floor_mod_i, opcode::floor_mod_f});
}

node_ptr is_nan_function(const call_site& s) {
  if (!s.require_number(0)) return nullptr;
  const node_ptr x = to_real(s.args[0]);
  return op_node(opcode::ne_f, type_of(type_kind::boolean), {x, x});
}

// A value of this type that stands for one that is missing; null where every value means something.
node_ptr missing_value(value_type type) {
  if (type.is_string()) return text_node("");
  if (type.is_float()) return number_node(type, lane::bits(std::numeric_limits<double>::quiet_NaN()));
  return nullptr;
}

node_ptr is_there(const node_ptr& x) {
  if (x->type.is_string()) return compare("!=", x, text_node(""));
  return op_node(opcode::eq_f, type_of(type_kind::boolean), {x, x});
}

node_ptr selected(const node_ptr& condition, const node_ptr& a, const node_ptr& b) {
  return op_node(a->type.is_text() ? opcode::select_text : opcode::select, a->type, {condition, a, b});
}

node_ptr never_missing(const call_site& s, value_type type, std::string hint) {
  return s.fault(0, fmt::format("no value of {} is missing", to_string(type)),
                 "texts, of which '' is missing, or floats, of which NaN is", std::move(hint));
}

node_ptr coalesce_function(const call_site& s) {
  std::vector<node_ptr> values = s.args;
  if (!unify(values)) return no_common_type(s, 0, values);
  const value_type type = values[0]->type;
  if (missing_value(type) == nullptr)
    return never_missing(s, type,
                         type.is_bytes()  ? "write coalesce(string(a), b)"
                         : type.is_time() ? "write if(x != '1970-01-01', x, y) where that day is missing"
                                          : "write if(x != 0, x, y) where 0 is missing");
  node_ptr result = values.back();
  for (size_t k = values.size() - 1; k-- > 0;) result = selected(is_there(values[k]), values[k], result);
  return result;
}

node_ptr nullif_function(const call_site& s) {
  std::vector<node_ptr> values = s.args;
  if (!unify(values)) return no_common_type(s, 0, values);
  const value_type type = values[0]->type;
  const node_ptr missing = missing_value(type);
  if (missing == nullptr)
    return never_missing(s, type,
                         type.is_bytes()  ? "write nullif(string(x), y)"
                         : type.is_time() ? "write if(x == y, a, b)"
                         : type.is_boolean() || type.is_decimal()
                             ? "write if(x == y, a, b)"
                             : "write nullif(f64(x), y); integers divided by 0 give 0");
  return selected(compare("==", values[0], values[1]), missing, values[0]);
}

constexpr function table[] = {
    {"trunc", "trunc(x[, n])",
     "The next whole number toward 0: f64. A decimal is cut to n digits behind the point, a constant; without it to 0.",
     1, 2, trunc_function},
    {"round", "round(x[, n])",
     "The nearest whole number, or number with n digits behind the point (below 0: before it); halves go away from 0. "
     "It is f64: x * 10^n, rounded as a float, then to a whole number, over 10^n, so that 2.675 becomes 2.68 and 1.005 "
     "becomes 1 (to_decimal goes by what the float exactly is). Of a decimal it is a decimal with that many digits "
     "behind the point, and n a constant.",
     1, 2, round_function},
    {"exp", "exp(x) → f64", "e to the power of x.", 1, 1, real_function<opcode::exp_f>},
    {"log", "log(x) → f64", "The natural logarithm; -inf of 0, NaN below.", 1, 1, real_function<opcode::log_f>},
    {"log2", "log2(x) → f64", "The logarithm to base 2.", 1, 1, real_function<opcode::log2_f>},
    {"log10", "log10(x) → f64", "The logarithm to base 10.", 1, 1, real_function<opcode::log10_f>},
    {"pow", "pow(x, y) → f64", "x to the power of y.", 2, 2, pow_function},
    {"sign", "sign(x) → i64", "-1 below 0, 1 above, 0 for 0 and NaN.", 1, 1, sign_function},
    {"floor_div", "floor_div(a, b)", "a / b rounded down, where / of integers rounds toward 0; 0 for integers by 0.", 2,
     2, floor_div_function},
    {"floor_mod", "floor_mod(a, b)", "a - b * floor_div(a, b): what is left, with the sign of b; 0 for integers by 0.",
     2, 2, floor_mod_function},
    {"is_nan", "is_nan(x) → bool", "Whether the number is NaN.", 1, 1, is_nan_function},
    {"coalesce", "coalesce(x, y, …)",
     "The first value that is not missing: a text that is not empty, or a float that is not NaN. Otherwise the last.",
     2, any_number, coalesce_function},
    {"nullif", "nullif(x, y)", "x, but missing where it equals y: '' for texts, NaN for floats.", 2, 2,
     nullif_function},
};

}  // namespace

std::span<const function> real_functions() { return table; }

}  // namespace flowrun::expr
