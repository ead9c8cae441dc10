#include "engine/expr/coerce.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/lane.h"
#include "engine/expr/times.h"
#include "engine/record/decimal_text.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

constexpr value_type boolean_type{type_kind::boolean, 1};

node_ptr truth(opcode op, node_ptr a, node_ptr b) { return op_node(op, boolean_type, {std::move(a), std::move(b)}); }

uint64_t low_bits(uint32_t num_bytes) { return num_bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * num_bytes)) - 1; }

node_ptr cast_integer(const node_ptr& value, value_type type) {
  const value_type from = value->type;
  if (type.num_bytes == 8) return retype_node(value, type);
  if (type.is_unsigned()) {
    if (!from.is_signed() && from.num_bytes <= type.num_bytes) return retype_node(value, type);
    return op_node(opcode::bit_and, type,
                   {value, number_node(value_type::of(type_kind::u64), low_bits(type.num_bytes))});
  }
  const bool fits =
      from.is_signed() ? from.num_bytes <= type.num_bytes : from.num_bytes < type.num_bytes || from.is_boolean();
  if (fits) return retype_node(value, type);
  return op_node(opcode::sign_extend, type, {value}, 64 - 8 * uint64_t{type.num_bytes});
}

// u64 against i64, mathematically: the signed side is on the right.
node_ptr compare_mixed(std::string_view op, const node_ptr& u, const node_ptr& i) {
  if (op == "==") return truth(opcode::eq_ui, u, i);
  if (op == "!=") return not_node(truth(opcode::eq_ui, u, i));
  if (op == "<") return truth(opcode::lt_ui, u, i);
  if (op == ">=") return not_node(truth(opcode::lt_ui, u, i));
  if (op == ">") return truth(opcode::lt_iu, i, u);
  return not_node(truth(opcode::lt_iu, i, u));
}

std::string_view mirrored(std::string_view op) {
  if (op == "<") return ">";
  if (op == "<=") return ">=";
  if (op == ">") return "<";
  if (op == ">=") return "<=";
  return op;
}

bool is_literal_of(const node& value, value_type type) {
  return type.is_bytes() && value.literal && value.type.is_string() && value.text.size() == type.num_bytes;
}

// bytes[N] on one side and literals of N bytes on the other.
bool unify_with_literals(std::vector<node_ptr>& values) {
  const auto bytes = std::find_if(values.begin(), values.end(), [](const node_ptr& v) { return v->type.is_bytes(); });
  if (bytes == values.end()) return false;
  const value_type type = (*bytes)->type;
  if (!std::all_of(values.begin(), values.end(),
                   [&](const node_ptr& v) { return v->type == type || is_literal_of(*v, type); }))
    return false;
  for (node_ptr& v : values) v = retype_node(v, type);
  return true;
}

}  // namespace

lane_kind lane_kind_of(value_type type) {
  if (type.is_unsigned()) return lane_kind::unsigned_integer;
  if (type.is_signed()) return lane_kind::signed_integer;
  if (type.is_float()) return lane_kind::real;
  if (type.is_date()) return lane_kind::date;
  if (type.is_timestamp()) return lane_kind::timestamp;
  if (type.is_decimal()) return lane_kind::decimal;
  return type.is_boolean() ? lane_kind::boolean : lane_kind::text;
}

value_type wide_type(lane_kind kind) {
  switch (kind) {
    case lane_kind::unsigned_integer: return value_type::of(type_kind::u64);
    case lane_kind::signed_integer: return value_type::of(type_kind::i64);
    case lane_kind::real: return value_type::of(type_kind::f64);
    case lane_kind::boolean: return value_type::of(type_kind::boolean);
    case lane_kind::text: return value_type::of(type_kind::string);
    case lane_kind::date: return value_type::of(type_kind::date);
    case lane_kind::timestamp: return value_type::of(type_kind::timestamp);
    case lane_kind::decimal: break;
  }
  internal_error("wide_type: unknown lane");
}

namespace {

constexpr value_type widest_signed{type_kind::i64, 8}, widest_unsigned{type_kind::u64, 8};

bool fits_signed(const node& n) {
  return n.type.is_signed() || n.type.num_bytes < 8 || (is_known_integer(n) && holds(widest_signed, exact_value(n)));
}
bool fits_unsigned(const node& n) {
  return n.type.is_unsigned() || (is_known_integer(n) && holds(widest_unsigned, exact_value(n)));
}

}  // namespace

std::optional<lane_kind> common_kind(const std::vector<node_ptr>& values) {
  const auto all = [&](auto holds_for) {
    return std::all_of(values.begin(), values.end(), [&](const node_ptr& v) { return holds_for(*v); });
  };
  if (!all([](const node& v) { return !v.type.is_float(); })) return lane_kind::real;
  if (all([](const node& v) { return v.type.is_unsigned(); })) return lane_kind::unsigned_integer;
  if (all(fits_signed)) return lane_kind::signed_integer;
  if (all(fits_unsigned)) return lane_kind::unsigned_integer;
  return std::nullopt;
}

std::string common_kind_hint(const std::vector<node_ptr>& values) {
  bool signed_helps = true, unsigned_helps = true;  // a cast of a constant that doesn't fit would be refused
  for (const node_ptr& v : values) {
    if (!is_known_integer(*v)) continue;
    signed_helps = signed_helps && fits_signed(*v);
    unsigned_helps = unsigned_helps && fits_unsigned(*v);
  }
  if (signed_helps && unsigned_helps) return "write i64(x) for the unsigned one or u64(x) for the signed one";
  if (signed_helps) return "write i64(x) for the unsigned one";
  if (unsigned_helps) return "write u64(x) for the signed one";
  return "write f64(x) for both";
}

node_ptr to_real(const node_ptr& value) {
  const value_type real = value_type::of(type_kind::f64);
  if (value->type.is_float()) return value;
  if (value->type.is_decimal()) return decimal_to_real(value);
  return op_node(value->type.is_signed() ? opcode::i_to_f : opcode::u_to_f, real, {value});
}

node_ptr to_kind(const node_ptr& value, lane_kind kind) { return kind == lane_kind::real ? to_real(value) : value; }

bool unify(std::vector<node_ptr>& values) {
  const auto all = [&](auto holds) { return std::all_of(values.begin(), values.end(), holds); };
  if (all([&](const node_ptr& v) { return v->type == values[0]->type; })) return true;
  if (const auto time = std::find_if(values.begin(), values.end(), [](const node_ptr& v) { return v->type.is_time(); });
      time != values.end()) {
    const value_type type = (*time)->type;
    for (node_ptr& v : values) v = as_time(v, type);
    return all([&](const node_ptr& v) { return v->type == type; });
  }
  if (std::any_of(values.begin(), values.end(), [](const node_ptr& v) { return v->type.is_decimal(); }))
    return unify_decimals(values);
  if (all([](const node_ptr& v) { return v->type.is_number(); })) {
    const std::optional<lane_kind> kind = common_kind(values);
    if (!kind) return false;
    for (node_ptr& v : values) v = retype_node(to_kind(v, *kind), wide_type(*kind));
    return true;
  }
  if (all([](const node_ptr& v) { return v->type.is_text(); })) {
    if (unify_with_literals(values)) return true;
    for (node_ptr& v : values) v = as_text(v);
    return true;
  }
  return false;
}

node_ptr mixed_extreme(bool largest, const node_ptr& of_unsigned, const node_ptr& of_signed) {
  const node_ptr unsigned_is_less = truth(opcode::lt_ui, of_unsigned, of_signed);
  const value_type type = largest ? widest_unsigned : widest_signed;
  const node_ptr u = retype_node(of_unsigned, type), i = retype_node(of_signed, type);
  return largest ? op_node(opcode::select, type, {unsigned_is_less, i, u})
                 : op_node(opcode::select, type, {unsigned_is_less, u, i});
}

node_ptr cast(const node_ptr& value, value_type type) {
  const value_type from = value->type;
  if (from == type) return retype_node(value, type);
  if (type.is_string()) return as_text(value);
  if (from.is_text() || type.is_bytes() || from.is_time() || type.is_time() || type.is_decimal()) return nullptr;
  if (type.is_boolean()) {
    if (from.is_float()) return truth(opcode::ne_f, value, number_node(value_type::of(type_kind::f64), 0));
    return truth(opcode::ne, value, number_node(from, 0));
  }
  if (type.is_float()) {
    const node_ptr wide = to_real(value);
    if (type.kind == type_kind::f64) return retype_node(wide, type);
    return op_node(opcode::f_to_f32, type, {wide});
  }
  if (from.is_float()) {
    if (type.is_unsigned()) return op_node(opcode::f_to_u, type, {value}, low_bits(type.num_bytes));
    return op_node(opcode::f_to_i, type, {value}, low_bits(type.num_bytes) >> 1);
  }
  if (from.is_decimal()) {
    const uint64_t unit = static_cast<uint64_t>(record::powers_of_ten[from.scale]);
    const value_type i64 = value_type::of(type_kind::i64);
    return cast_integer(op_node(opcode::div_i, i64, {value, number_node(i64, unit)}), type);
  }
  return cast_integer(value, type);
}

node_ptr convert(const node_ptr& value, value_type type) {
  const value_type from = value->type;
  if (is_literal_of(*value, type)) return retype_node(value, type);
  if (type.is_decimal()) return as_decimal(value, type);
  if (type.is_time() && from.is_text()) {
    node_ptr time = as_time(value, type);
    return time->type == type ? time : nullptr;
  }
  const bool allowed = from == type || (from.is_integer() && type.is_integer()) ||
                       ((from.is_number() || from.is_decimal()) && type.is_float()) ||
                       (from.is_bytes() && type.is_string());
  return allowed && !misfit_of(*value, type) ? cast(value, type) : nullptr;
}

node_ptr as_text(const node_ptr& value) {
  const value_type text = value_type::of(type_kind::string);
  switch (lane_kind_of(value->type)) {
    case lane_kind::text: return retype_node(value, text);
    case lane_kind::date: return op_node(opcode::date_to_text, text, {value});
    case lane_kind::timestamp: return op_node(opcode::timestamp_to_text, text, {value});
    case lane_kind::decimal: return op_node(opcode::decimal_to_text, text, {value}, value->type.scale);
    case lane_kind::boolean: return op_node(opcode::b_to_text, text, {value});
    case lane_kind::unsigned_integer: return op_node(opcode::u_to_text, text, {value});
    case lane_kind::signed_integer: return op_node(opcode::i_to_text, text, {value});
    case lane_kind::real:
      return op_node(value->type.kind == type_kind::f32 ? opcode::f32_to_text : opcode::f_to_text, text, {value});
  }
  internal_error("as_text: unknown lane");
}

node_ptr not_node(const node_ptr& condition) { return op_node(opcode::not_b, boolean_type, {condition}); }
node_ptr and_node(const node_ptr& a, const node_ptr& b) { return truth(opcode::bit_and, a, b); }
node_ptr or_node(const node_ptr& a, const node_ptr& b) { return truth(opcode::bit_or, a, b); }

node_ptr compare(std::string_view op, const node_ptr& left, const node_ptr& right) {
  const node_ptr a = right->type.is_time() ? as_time(left, right->type) : left;
  const node_ptr b = left->type.is_time() ? as_time(right, left->type) : right;
  const bool times = a->type.is_time() && a->type == b->type;
  const bool texts = a->type.is_text() && b->type.is_text();
  const bool booleans = a->type.is_boolean() && b->type.is_boolean();
  const bool numbers = a->type.is_number() && b->type.is_number();
  const bool decimals = a->type.is_decimal() || b->type.is_decimal();
  if (!texts && !booleans && !numbers && !times && !decimals) return nullptr;
  // > and >= are < and <= with the sides exchanged.
  if (op[0] == '>') return compare(mirrored(op), b, a);
  if (decimals) return compare_decimals(op, a, b);
  if (texts) {
    if (op == "==") return truth(opcode::eq_text, a, b);
    if (op == "!=") return not_node(truth(opcode::eq_text, a, b));
    return op == "<" ? truth(opcode::lt_text, a, b) : not_node(truth(opcode::lt_text, b, a));
  }
  const auto by_op = [&](opcode eq, opcode ne, opcode lt, opcode le, const node_ptr& x, const node_ptr& y) {
    return truth(op == "==" ? eq : op == "!=" ? ne : op == "<" ? lt : le, x, y);
  };
  if (booleans) return by_op(opcode::eq, opcode::ne, opcode::lt_u, opcode::le_u, a, b);
  if (times) return by_op(opcode::eq, opcode::ne, opcode::lt_i, opcode::le_i, a, b);
  if (a->type.is_float() || b->type.is_float())
    return by_op(opcode::eq_f, opcode::ne_f, opcode::lt_f, opcode::le_f, to_real(a), to_real(b));
  if (a->type.is_signed() == b->type.is_signed())
    return a->type.is_signed() ? by_op(opcode::eq, opcode::ne, opcode::lt_i, opcode::le_i, a, b)
                               : by_op(opcode::eq, opcode::ne, opcode::lt_u, opcode::le_u, a, b);
  // A constant on the unsigned side that i64 can hold needs no care.
  const node_ptr& u = a->type.is_unsigned() ? a : b;
  if (u->is_number_constant() && u->imm < lane::sign_bit)
    return by_op(opcode::eq, opcode::ne, opcode::lt_i, opcode::le_i, a, b);
  return a->type.is_unsigned() ? compare_mixed(op, a, b) : compare_mixed(mirrored(op), b, a);
}

node_ptr compare_tuples(std::string_view op, const std::vector<node_ptr>& a, const std::vector<node_ptr>& b) {
  const size_t last = a.size() - 1;
  node_ptr result = compare(op, a[last], b[last]);
  const std::string_view strict = op.substr(0, 1);
  for (size_t i = last; result != nullptr && i-- > 0;) {
    const node_ptr equal = compare("==", a[i], b[i]);
    if (equal == nullptr) return nullptr;
    if (op == "==")
      result = and_node(equal, result);
    else if (op == "!=")
      result = or_node(not_node(equal), result);
    else
      result = or_node(compare(strict, a[i], b[i]), and_node(equal, result));
  }
  return result;
}

}  // namespace flowrun::expr
