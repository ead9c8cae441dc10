#include "engine/expr/conversion.h"

#include <fmt/format.h>

#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/node.h"
#include "engine/expr/times.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

// A text as a number of the type: read as the widest of its kind, then narrowed.
std::string number_in(std::string_view text, value_type to) {
  const type_kind wide = to.is_float() ? type_kind::f64 : to.is_signed() ? type_kind::i64 : type_kind::u64;
  const std::string read = fmt::format("to_{}({})", to_string(value_type::of(wide)), text);
  return to.kind == wide ? read : fmt::format("{}({})", to_string(to), read);
}

// A time, or what becomes one: "to_date(x)", "i32(to_i64(x))".
std::string time_in(std::string_view text, value_type from, value_type to) {
  if (to.is_time()) {
    if (from.is_boolean()) return "";
    return from.is_float() ? fmt::format("to_{}(i64({}))", to_string(to), text)
                           : fmt::format("to_{}({})", to_string(to), text);
  }
  if (!to.is_number()) return "";
  const std::string number = fmt::format("to_i64({})", text);
  return to.kind == type_kind::i64 ? number : fmt::format("{}({})", to_string(to), number);
}

}  // namespace

std::string converted_text(std::string_view text, value_type from, value_type to) {
  if (from == to) return std::string(text);
  if (to.is_string()) return fmt::format("string({})", text);
  const bool date_of_decimal = to.is_time() && from.is_decimal(), decimal_of_date = to.is_decimal() && from.is_time();
  if (date_of_decimal || decimal_of_date) return "";
  if (to.is_time() || (from.is_time() && !to.is_bytes())) return time_in(text, from, to);
  if (to.is_decimal()) return from.is_boolean() ? "" : fmt::format("to_decimal({}, {})", text, to.scale);
  if (to.is_bytes())
    return from.is_bytes() && from.num_bytes > to.num_bytes ? fmt::format("{}[0:{}]", text, to.num_bytes) : "";
  if (to.is_boolean() && from.is_bytes()) return fmt::format("string({}) == 'true'", text);  // whatever its length
  if (to.is_boolean()) return from.is_text() ? fmt::format("{} == 'true'", text) : fmt::format("{} != 0", text);
  return from.is_text() ? number_in(text, to) : fmt::format("{}({})", to_string(to), text);
}

std::string one_type_text(std::string_view a, value_type type_of_a, std::string_view b, value_type type_of_b) {
  if (type_of_a.is_bytes() && type_of_b.is_bytes()) return fmt::format("{0}: string({0}), and {1}: string({1})", a, b);
  const std::string of_b = converted_text(b, type_of_b, type_of_a);
  return of_b.empty() ? fmt::format("{}: {}", a, converted_text(a, type_of_a, type_of_b))
                      : fmt::format("{}: {}", b, of_b);
}

problem conversion_problem(const expression& value, value_type to) {
  if (const auto no = misfit_of(*value.root(), to)) return {0, no->message, no->expected, no->hint};
  if (const auto no = time_misfit(*value.root(), to)) return {0, no->message, no->expected, no->hint};
  if (const auto no = decimal_misfit(*value.root(), to)) return {0, no->message, no->expected, no->hint};
  const std::string text = converted_text(value.text(), value.type(), to);
  return {0, fmt::format("'{}' is {}", value.text(), to_string(value.type())), to_string(to),
          text.empty() ? "" : fmt::format("write {}", text)};
}

}  // namespace flowrun::expr
