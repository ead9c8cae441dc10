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

// Whether converting may make different values equal, or one that is none a 0, without a word.
bool loses_values(value_type from, value_type to) {
  if (to.is_text()) return false;
  if (from.is_text()) return true;
  if (from.is_time()) return to.is_date() && !from.is_date();
  if (from.is_decimal()) return !to.is_decimal() || to.scale < from.scale;
  if (from.is_float()) return !to.is_float() || to.num_bytes < from.num_bytes;
  if (from.is_boolean()) return false;
  if (to.is_float()) return 2 * from.num_bytes > to.num_bytes;
  if (!to.is_integer()) return to.is_boolean();
  if (from.is_unsigned() && to.is_signed()) return to.num_bytes <= from.num_bytes;
  return from.is_signed() != to.is_signed() || to.num_bytes < from.num_bytes;
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

one_type one_type_of(std::string_view a, value_type type_of_a, std::string_view b, value_type type_of_b) {
  const one_type both{fmt::format("{0}: string({0}), and {1}: string({1})", a, b), true, true};
  if (type_of_a.is_bytes() && type_of_b.is_bytes()) return both;
  const std::string of_a = converted_text(a, type_of_a, type_of_b), of_b = converted_text(b, type_of_b, type_of_a);
  const one_type change_a{fmt::format("{}: {}", a, of_a), true, false};
  const one_type change_b{fmt::format("{}: {}", b, of_b), false, true};
  if (!of_b.empty() && !loses_values(type_of_b, type_of_a)) return change_b;
  if (!of_a.empty() && !loses_values(type_of_a, type_of_b)) return change_a;
  if (type_of_a.is_integer() && type_of_b.is_integer() && type_of_a.num_bytes < 8 && type_of_b.num_bytes < 8)
    return {fmt::format("{0}: i64({0}), and {1}: i64({1})", a, b), true, true};
  return of_b.empty() ? change_a : change_b;
}

std::string widening_hint(const expression& first, const expression& other, std::string_view place) {
  const auto keeps = [](const expression& e, value_type to) {
    const node& n = *e.root();
    return n.is_number_constant() && n.known && to.is_number()
               ? !misfit_of(n, to) && (to.is_float() || !n.type.is_float())
               : !loses_values(e.type(), to);
  };
  if (first.type().is_text() || other.type().is_text()) return "";
  if (keeps(other, first.type()) || !keeps(first, other.type())) return "";
  const std::string text = converted_text(first.text(), first.type(), other.type());
  return text.empty() ? "" : fmt::format("write {} {}", text, place);
}

std::string_view reader_of_numbers(const node& number) {
  if (number.type.is_float() || number.literal) return "to_f64";
  return number.type.is_signed() ? "to_i64" : "to_u64";
}

problem conversion_problem(const expression& value, value_type to) {
  if (const auto no = misfit_of(*value.root(), to)) {
    if (!value.root()->type.is_integer()) return {0, no->message, no->expected, no->hint};
    return {0, no->message, no->expected,
            fmt::format("write {}(x) where it gets its type, and it holds this",
                        exact_value(*value.root()) < 0 ? "i64" : "u64")};
  }
  if (const auto no = time_misfit(*value.root(), to)) return {0, no->message, no->expected, no->hint};
  if (const auto no = decimal_misfit(*value.root(), to)) return {0, no->message, no->expected, no->hint};
  const std::string text = converted_text(value.text(), value.type(), to);
  return {0, fmt::format("'{}' is {}", value.text(), to_string(value.type())), to_string(to),
          text.empty() ? "" : fmt::format("write {}", text)};
}

}  // namespace flowrun::expr
