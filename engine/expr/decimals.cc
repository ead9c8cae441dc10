#include "engine/expr/decimals.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "engine/expr/coerce.h"
#include "engine/expr/decimal_lane.h"
#include "engine/expr/outside_function.h"
#include "engine/record/decimal_text.h"

namespace flowrun::expr {

namespace {

using record::decimal_reading;
using record::type_kind;
using record::value_type;

constexpr value_type i64{type_kind::i64, 8};

std::string name_of(const node_ptr& value) { return to_string(value->type); }
uint64_t power(uint32_t scale) { return static_cast<uint64_t>(record::powers_of_ten[scale]); }
bool is_constant_text(const node& n) { return n.op == opcode::text_constant && n.known; }
bool is_known(const node& n) { return n.is_number_constant() && n.known; }

// The digits of a literal with a point, or of a constant text; empty for everything else.
std::string_view digits_of(const node& n) {
  const bool is_literal = n.is_number_constant() && n.known && n.type.is_float();
  return is_literal || is_constant_text(n) ? std::string_view(n.text) : std::string_view();
}

// A primitive that may fail; null where it does so over constants.
node_ptr checked(opcode op, value_type type, std::vector<node_ptr> args, uint64_t imm = 0) {
  try {
    return op_node(op, type, std::move(args), imm);
  } catch (const call_failed&) {
    return nullptr;
  }
}

// More digits behind the point.
node_ptr widened(const node_ptr& decimal, uint32_t scale) {
  if (decimal == nullptr || decimal->type.scale == scale) return decimal;
  return checked(opcode::mul_decimal, value_type::decimal(scale),
                 {decimal, number_node(i64, power(scale - decimal->type.scale))});
}

node_ptr as_written(std::string_view text) {
  const size_t scale = record::digits_behind_point(text);
  int64_t units = 0;
  if (scale > record::max_decimal_scale) return nullptr;
  if (record::read_decimal(text, static_cast<uint32_t>(scale), units) != decimal_reading::done) return nullptr;
  return number_node(value_type::decimal(static_cast<uint32_t>(scale)), static_cast<uint64_t>(units));
}

// Zeros at the end count as digits where there is room for them.
node_ptr of_text(std::string_view text) {
  if (node_ptr all = as_written(text)) return all;
  if (text.find('.') == std::string_view::npos) return nullptr;
  return as_written(text.substr(0, text.find_last_not_of('0') + 1));
}

node_ptr of_integer(const node_ptr& value) {
  const value_type whole = value_type::decimal(0);
  if (value->type.is_signed() || value->type.num_bytes < 8) return retype_node(value, whole);
  return checked(opcode::decimal_of_u, whole, {value});
}

// A literal with a point may be a text of digits; "1e3" and "0x1p3" are floats and nothing else.
bool has_digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string opposite(std::string_view number) {
  return number.starts_with('-') ? std::string(number.substr(1)) : fmt::format("-{}", number);
}

// A constant that is a number, and no decimal of any scale.
bool has_too_many_digits(const node& n) {
  const std::string_view digits = digits_of(n);
  int64_t units = 0;
  return !digits.empty() && record::read_decimal(digits, 0, units, true) != decimal_reading::no_number &&
         of_text(digits) == nullptr;
}

}  // namespace

node_ptr real_literal_node(double value, std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != '_') digits += c;
  auto n = std::make_shared<node>(*number_node(value_type::of(type_kind::f64), lane::bits(value)));
  if (has_digits_only(digits)) n->text = std::move(digits);
  return n;
}

node_ptr with_exact_digits(std::string_view op, const node_ptr& a, const node_ptr& b, node_ptr result) {
  const auto spelled = [](const node_ptr& n) { return (n->literal && is_known_integer(*n)) || !digits_of(*n).empty(); };
  if (!result->is_number_constant() || !result->type.is_float() || !spelled(a) || !spelled(b)) return result;
  if (op != "+" && op != "-" && op != "*") return result;
  operand_fault ignored;
  const node_ptr x = exact_decimal(a), y = exact_decimal(b);
  const node_ptr exact = x == nullptr || y == nullptr ? nullptr : decimal_arithmetic(op, x, y, ignored);
  // A number of any length may have a sign.
  const bool is_sign = op == "-" && is_known_integer(*a) && a->imm == 0 && !digits_of(*b).empty();
  if (exact == nullptr && !is_sign) return result;
  auto n = std::make_shared<node>(*result);
  n->text = exact == nullptr ? opposite(digits_of(*b))
                             : record::decimal_text(static_cast<int64_t>(exact->imm), exact->type.scale);
  return n;
}

node_ptr signed_real_node(double value, std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const node_ptr digits = real_literal_node(negative ? -value : value, text);
  if (!negative) return digits;
  return with_exact_digits("-", literal_node(0), digits, number_node(digits->type, lane::bits(value)));
}

node_ptr exact_decimal(const node_ptr& value) {
  if (value->type.is_decimal()) return value;
  if (value->type.is_integer()) return of_integer(value);
  const std::string_view digits = digits_of(*value);
  return digits.empty() ? nullptr : of_text(digits);
}

node_ptr as_decimal(const node_ptr& value, value_type type) {
  const node_ptr exact = exact_decimal(value);
  if (exact == nullptr) return nullptr;
  if (exact->type.scale <= type.scale) return widened(exact, type.scale);
  const uint64_t unit = power(exact->type.scale - type.scale);
  if (!is_known(*exact) || lane::rem_i(exact->imm, unit) != 0) return nullptr;
  return number_node(type, lane::div_i(exact->imm, unit));
}

node_ptr to_scale(const node_ptr& value, uint32_t scale) {
  const value_type type = value_type::decimal(scale);
  if (const std::string_view digits = digits_of(*value); !digits.empty()) {
    int64_t units = 0;
    const bool fits = record::read_decimal(digits, scale, units, true) == decimal_reading::done;
    return fits ? number_node(type, static_cast<uint64_t>(units)) : nullptr;
  }
  node_ptr exact = exact_decimal(value);
  if (exact == nullptr && value->type.is_float()) return checked(opcode::decimal_of_f, type, {value}, power(scale));
  if (exact == nullptr || exact->type.scale <= scale) return widened(exact, scale);
  return op_node(opcode::round_decimal, type, {exact}, power(exact->type.scale - scale));
}

node_ptr decimal_to_real(const node_ptr& value) {
  return op_node(opcode::decimal_to_f, value_type::of(type_kind::f64), {value}, power(value->type.scale));
}

std::optional<misfit> decimal_misfit(const node& value, value_type type) {
  if (!type.is_decimal()) return std::nullopt;
  const auto shared = std::make_shared<node>(value);
  std::string text(digits_of(value));
  const std::string shown = value.type.is_text() ? fmt::format("'{}'", text) : text;
  if (text.empty() && is_known_integer(value)) text = fmt::format("{}", exact_value(value));
  if (text.empty() && value.type.is_decimal() && is_known(value))
    text = record::decimal_text(static_cast<int64_t>(value.imm), value.type.scale);
  if ((text.empty() && !is_constant_text(value)) || as_decimal(shared, type) != nullptr) return std::nullopt;
  int64_t units = 0;
  const decimal_reading how = record::read_decimal(text, type.scale, units, true);
  const std::string name = shown.empty() ? text : shown;
  if (how == decimal_reading::no_number)
    return misfit{fmt::format("'{}' is no decimal: {}", text, record::why_no_decimal(text, type.scale)),
                  "a text such as '12.50'", ""};
  if (how == decimal_reading::too_large)
    return misfit{fmt::format("{} does not fit in {}", name, to_string(type)), record::decimal_range(type.scale),
                  type.scale > 0 ? "take a decimal with fewer digits behind the point" : "write f64(x)"};
  return misfit{
      fmt::format("{} does not fit in {}: {}", name, to_string(type), record::why_no_decimal(text, type.scale)),
      fmt::format("at most {} digits behind the point", type.scale),
      fmt::format("write to_decimal({}, {}) to round it", name, type.scale)};
}

bool unify_decimals(std::vector<node_ptr>& values) {
  const auto any = [&](auto holds) { return std::any_of(values.begin(), values.end(), holds); };
  if (any([](const node_ptr& v) { return v->type.is_float() && digits_of(*v).empty(); })) {
    if (any([](const node_ptr& v) { return !v->type.is_number() && !v->type.is_decimal(); })) return false;
    for (node_ptr& v : values) v = retype_node(to_real(v), value_type::of(type_kind::f64));
    return true;
  }
  std::vector<node_ptr> out;
  uint32_t scale = 0;
  for (const node_ptr& v : values) {
    out.push_back(exact_decimal(v));
    if (out.back() == nullptr) return false;
    scale = std::max<uint32_t>(scale, out.back()->type.scale);
  }
  for (node_ptr& v : out)
    if ((v = widened(v, scale)) == nullptr) return false;
  values = std::move(out);
  return true;
}

namespace {

// An integer as it is, a decimal as the integer of its units.
node_ptr units_of(const node_ptr& value) { return value->type.is_decimal() ? retype_node(value, i64) : value; }
uint32_t scale_of(const node_ptr& value) { return value->type.is_decimal() ? value->type.scale : 0; }

// x of the smaller scale, y in units that are `unit` times smaller: x <= y is x <= floor(y / unit), and x < y is
// x < ceil(y / unit). Nothing of this can overflow.
node_ptr compare_scaled(std::string_view op, const node_ptr& x, const node_ptr& y, uint64_t unit, bool x_is_left) {
  const node_ptr by = number_node(i64, unit);
  const node_ptr below = op_node(opcode::floor_div_i, i64, {y, by});
  const node_ptr rest = op_node(opcode::floor_mod_i, i64, {y, by});
  const node_ptr zero = number_node(i64, 0);
  if (op == "==" || op == "!=") {
    const node_ptr equal = and_node(compare("==", x, below), compare("==", rest, zero));
    return op == "==" ? equal : not_node(equal);
  }
  if (op == "<=" && x_is_left) return compare(op, x, below);
  if (op == "<" && !x_is_left) return compare(op, below, x);
  const node_ptr above = op_node(opcode::add, i64, {below, retype_node(compare("!=", rest, zero), i64)});
  return x_is_left ? compare(op, x, above) : compare(op, above, x);
}

// A decimal and a constant that lies between two numbers of its scale, or beyond all of them.
node_ptr compare_between(std::string_view op, const node_ptr& decimal, std::string_view constant,
                         bool decimal_is_left) {
  const auto always = [](bool truth) { return number_node(value_type::of(type_kind::boolean), truth ? 1 : 0); };
  if (op == "==" || op == "!=") return always(op == "!=");
  const uint32_t scale = decimal->type.scale;
  const bool negative = constant.starts_with('-');
  const size_t point = std::min(constant.find('.'), constant.size());
  int64_t below = 0;  // in units of the decimal
  if (record::read_decimal(constant.substr(0, point + 1 + scale), scale, below) != decimal_reading::done ||
      (negative && below == std::numeric_limits<int64_t>::min()))
    return always(decimal_is_left != negative);
  if (negative) --below;
  const node_ptr bound = number_node(i64, static_cast<uint64_t>(below));
  return decimal_is_left ? compare("<=", units_of(decimal), bound) : compare("<", bound, units_of(decimal));
}

}  // namespace

node_ptr compare_decimals(std::string_view op, const node_ptr& left, const node_ptr& right) {
  const auto comparable = [](const node_ptr& v) { return v->type.is_integer() ? v : exact_decimal(v); };
  const node_ptr a = comparable(left), b = comparable(right);
  if (has_too_many_digits(*right)) return compare_between(op, left, digits_of(*right), true);
  if (has_too_many_digits(*left)) return compare_between(op, right, digits_of(*left), false);
  if (a == nullptr || b == nullptr) {
    const auto number = [](const node_ptr& v) { return v->type.is_number() || v->type.is_decimal(); };
    return number(left) && number(right) ? compare(op, to_real(left), to_real(right)) : nullptr;
  }
  // A constant is brought to the column's scale where it can be.
  if (is_known(*a) && b->type.is_decimal())
    if (const node_ptr same = as_decimal(a, b->type)) return compare(op, units_of(same), units_of(b));
  if (is_known(*b) && a->type.is_decimal())
    if (const node_ptr same = as_decimal(b, a->type)) return compare(op, units_of(a), units_of(same));
  const uint32_t of_a = scale_of(a), of_b = scale_of(b);
  if (of_a == of_b) return compare(op, units_of(a), units_of(b));
  if (of_a < of_b) return compare_scaled(op, units_of(a), units_of(b), power(of_b - of_a), true);
  return compare_scaled(op, units_of(b), units_of(a), power(of_a - of_b), false);
}

namespace {

// Why a value has no part in what decimals do.
operand_fault no_operand(int argument, const node_ptr& value, value_type decimal, std::string message) {
  if (has_too_many_digits(*value))
    return {argument, fmt::format("{} has more digits than a decimal can have", digits_of(*value)),
            fmt::format("at most {} digits", record::max_decimal_scale),
            "leave digits out, or write f64(x) to compute with floats"};
  if (auto no = is_constant_text(*value) ? decimal_misfit(*value, decimal) : std::nullopt)
    return {argument, no->message, no->expected, no->hint};
  const std::string hint = value->type.is_text()      ? fmt::format("write to_decimal(text, {})", decimal.scale)
                           : value->type.is_boolean() ? "write u8(x) to count true as 1"
                                                      : "";
  return {argument, std::move(message), "a decimal, a number, or a text such as '12.50'", hint};
}

bool has_part(const node_ptr& v) {
  return v->type.is_decimal() || v->type.is_number() || (is_constant_text(*v) && exact_decimal(v) != nullptr);
}

}  // namespace

operand_fault incomparable_decimals(const node_ptr& a, const node_ptr& b) {
  const int other = a->type.is_decimal() ? 1 : 0;
  return no_operand(other, other == 1 ? b : a, (other == 1 ? a : b)->type,
                    fmt::format("{} and {} can't be compared", name_of(a), name_of(b)));
}

node_ptr negative_decimal(const node_ptr& value) {
  return checked(opcode::sub_decimal, value->type, {number_node(value->type, 0), value});
}

namespace {

node_ptr real_arithmetic(std::string_view op, const node_ptr& left, const node_ptr& right) {
  const opcode code = op == "+"   ? opcode::add_f
                      : op == "-" ? opcode::sub_f
                      : op == "*" ? opcode::mul_f
                      : op == "/" ? opcode::div_f
                                  : opcode::rem_f;
  const auto real = [](const node_ptr& v) { return to_real(v->type.is_text() ? exact_decimal(v) : v); };
  return op_node(code, value_type::of(type_kind::f64), {real(left), real(right)});
}

}  // namespace

node_ptr decimal_arithmetic(std::string_view op, const node_ptr& left, const node_ptr& right, operand_fault& fault) {
  const int at = left->type.is_decimal() ? 0 : 1;
  const value_type decimal = (at == 0 ? left : right)->type;
  if (op != "+" && op != "-" && op != "*" && op != "/" && op != "%") {
    fault = {at, fmt::format("'{}' needs integers, this is {}", op, to_string(decimal)), "an integer",
             std::string(integer_of_decimal_hint)};
    return nullptr;
  }
  const std::string what = fmt::format("'{}' of {} and {}", op, name_of(left), name_of(right));
  for (const int argument : {0, 1})
    if (const node_ptr& value = argument == 0 ? left : right; !has_part(value)) {
      fault = no_operand(argument, value, decimal, what);
      return nullptr;
    }
  const auto is_exact = [](const node_ptr& v) { return !v->type.is_float() || !digits_of(*v).empty(); };
  if (op == "/" || !is_exact(left) || !is_exact(right)) return real_arithmetic(op, left, right);
  node_ptr a = exact_decimal(left), b = exact_decimal(right), result;
  const auto no_constant = [&](int argument) {
    fault = {argument, fmt::format("{}: the constant does not fit", what),
             fmt::format("{}, with at most {} digits behind the point", record::decimal_range(decimal.scale),
                         record::max_decimal_scale),
             "write f64(x) to compute with floats"};
    return nullptr;
  };
  if (a == nullptr) return no_constant(0);
  if (b == nullptr) return no_constant(1);
  if (op == "*") {
    const uint32_t scale = uint32_t{a->type.scale} + b->type.scale;
    if (scale > record::max_decimal_scale) {
      fault = {a->type.scale >= b->type.scale ? 0 : 1, fmt::format("{} has {} digits behind the point", what, scale),
               fmt::format("at most {}", record::max_decimal_scale),
               "write round(x, n) for fewer digits, or f64(x) to compute with floats"};
      return nullptr;
    }
    result = checked(opcode::mul_decimal, value_type::decimal(scale), {a, b});
  } else {
    const uint32_t scale = std::max(a->type.scale, b->type.scale);
    a = widened(a, scale);
    b = widened(b, scale);
    if (a == nullptr) return no_constant(0);
    if (b == nullptr) return no_constant(1);
    const opcode code = op == "+" ? opcode::add_decimal : op == "-" ? opcode::sub_decimal : opcode::rem_i;
    result = checked(code, value_type::decimal(scale), {a, b});
  }
  if (result == nullptr)
    fault = {at, fmt::format("{} of these constants is too large", what), record::decimal_range(decimal.scale),
             "write f64(x) to compute with floats"};
  return result;
}

}  // namespace flowrun::expr
