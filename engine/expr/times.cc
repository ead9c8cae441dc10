#include "engine/expr/times.h"

#include <fmt/format.h>

#include <cstdint>

#include "engine/base/calendar.h"
#include "engine/expr/time_lane.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

bool is_constant_text(const node& value) { return value.op == opcode::text_constant && value.known; }

std::string name_of(const node_ptr& value) { return to_string(value->type); }

}  // namespace

node_ptr as_count(const node_ptr& value) {
  const value_type i64 = value_type::of(type_kind::i64);
  if (value->type.is_signed() || value->type.num_bytes < 8) return retype_node(value, i64);
  const node_ptr most = number_node(value->type, static_cast<uint64_t>(INT64_MAX));
  return retype_node(op_node(opcode::min_u, value->type, {value, most}), i64);
}

node_ptr as_time(const node_ptr& value, value_type type) {
  if (!is_constant_text(*value)) return value;
  int64_t lane = 0;
  const bool is_one =
      type.is_date() ? calendar::parse_date(value->text, lane) : calendar::parse_timestamp(value->text, lane);
  return is_one ? number_node(type, static_cast<uint64_t>(lane)) : value;
}

std::optional<misfit> time_misfit(const node& value, value_type type) {
  if (!type.is_time() || !is_constant_text(value)) return std::nullopt;
  int64_t lane = 0;
  if (type.is_date()) {
    if (calendar::parse_date(value.text, lane)) return std::nullopt;
    const bool has_clock = calendar::parse_timestamp(value.text, lane);
    return misfit{fmt::format("'{}' is no date: {}", value.text, calendar::why_no_date(value.text)),
                  "a date such as '2026-11-23'", has_clock ? "write to_timestamp(x) for the date beside it" : ""};
  }
  if (calendar::parse_timestamp(value.text, lane)) return std::nullopt;
  return misfit{fmt::format("'{}' is no timestamp: {}", value.text, calendar::why_no_timestamp(value.text)),
                "a timestamp such as '2026-11-23T22:15:03Z'", ""};
}

std::string_view number_of_time_hint(value_type type) {
  return type.is_date() ? "write to_i64(x) for the days since 1970-01-01"
                        : "write to_i64(x) for the microseconds since 1970-01-01";
}

operand_fault incomparable_times(const node_ptr& a, const node_ptr& b) {
  const int other = a->type.is_time() ? 1 : 0;
  const node_ptr& time = other == 1 ? a : b;
  const node_ptr& beside = other == 1 ? b : a;
  const std::string type = name_of(time);
  if (auto no = time_misfit(*beside, time->type)) return {other, no->message, no->expected, no->hint};
  std::string hint;
  if (beside->type.is_time())
    hint = "write to_timestamp(x) for the date, or to_date(x) for the timestamp";
  else if (beside->type.is_text())
    hint = fmt::format("write to_{}(text)", type);
  else if (beside->type.is_number())
    hint = number_of_time_hint(time->type);
  return {other, fmt::format("{} and {} can't be compared", name_of(a), name_of(b)),
          fmt::format("two values of {}, or a text such as '2026-11-23'", type), std::move(hint)};
}

node_ptr time_arithmetic(std::string_view op, const node_ptr& left, const node_ptr& right, operand_fault& fault) {
  const value_type i64 = value_type::of(type_kind::i64);
  const bool minus = op == "-";
  // Only a difference has a time on both sides.
  const node_ptr a = minus && right->type.is_time() ? as_time(left, right->type) : left;
  const node_ptr b = minus && left->type.is_time() ? as_time(right, left->type) : right;
  const int at = a->type.is_time() ? 0 : 1;
  const value_type time = at == 0 ? a->type : b->type;
  if (op != "+" && op != "-") {
    fault = {at, fmt::format("'{}' needs numbers, this is {}", op, to_string(time)), "a number",
             std::string(number_of_time_hint(time))};
    return nullptr;
  }
  if (minus && a->type.is_time() && a->type == b->type) return op_node(opcode::sub, i64, {a, b});
  const node_ptr& other = at == 0 ? b : a;
  if (time.is_date() && other->type.is_integer() && (at == 0 || !minus)) {
    const opcode code = minus ? opcode::sub_days : opcode::add_days;
    return op_node(code, time, {at == 0 ? a : b, as_count(other)});
  }
  if (auto no = minus ? time_misfit(*other, time) : std::nullopt) {
    fault = {1 - at, no->message, no->expected, no->hint};
    return nullptr;
  }
  const std::string sum = fmt::format("'{}' of {} and {}", op, name_of(a), name_of(b));
  if (other->type.is_integer() && at == 0) {
    fault = {1, sum + " has no unit", "a unit",
             fmt::format("write date_add('second', {}n, t), or another unit", minus ? "-" : "")};
  } else if (minus && other->type.is_time()) {
    fault = {1, sum, "two dates or two timestamps",
             "write to_timestamp(x) for the date, or date_diff('day', from, to)"};
  } else {
    fault = {
        1 - at, sum,
        minus && at == 0 ? fmt::format("{}{}", to_string(time), time.is_date() ? " or an integer" : "") : "an integer",
        other->type.is_text() ? fmt::format("write to_{}(text)", to_string(time))
                              : "write date_add(unit, n, t) to add, date_diff(unit, from, to) for differences"};
  }
  return nullptr;
}

}  // namespace flowrun::expr
