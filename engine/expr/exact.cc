#include "engine/expr/exact.h"

#include <fmt/format.h>

#include <cmath>

#include "engine/expr/lane.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

// The same low bits as a number of the type: what a cast would have made of it.
exact_number low_bits(value_type type, exact_number value) {
  const exact_number range = exact_number{1} << (8 * type.num_bytes);
  const exact_number rest = ((value % range) + range) % range;
  return rest > most(type) ? rest - range : rest;
}

std::optional<misfit> integer_misfit(exact_number value, value_type type) {
  if (holds(type, value)) return std::nullopt;
  return misfit{fmt::format("{} does not fit in {}", value, to_string(type)), range_of(type),
                fmt::format("write {} for its low {} bits", low_bits(type, value), 8 * type.num_bytes)};
}

std::optional<misfit> real_misfit(double value, value_type type) {
  if (type.kind == type_kind::f64) return std::nullopt;
  if (type.kind == type_kind::f32) {
    if (std::isinf(value) || !std::isinf(lane::f(lane::round_to_f32(lane::bits(value))))) return std::nullopt;
    return misfit{fmt::format("{} does not fit in f32", value), "a number below 3.5e38", "write f64(x)"};
  }
  if (std::isnan(value)) return misfit{fmt::format("nan does not fit in {}", to_string(type)), range_of(type), ""};
  const double whole = std::trunc(value);
  const bool below = whole < static_cast<double>(least(type));
  // The largest u64 and i64 are no doubles: the next one is beyond.
  const bool above =
      type.num_bytes == 8 ? whole >= static_cast<double>(most(type)) : whole > static_cast<double>(most(type));
  if (!below && !above) return std::nullopt;
  return misfit{fmt::format("{} does not fit in {}", value, to_string(type)), range_of(type),
                fmt::format("write {} for the number next to it", below ? least(type) : most(type))};
}

}  // namespace

bool is_known_integer(const node& n) { return n.is_number_constant() && n.known && n.type.is_integer(); }

exact_number exact_value(const node& n) {
  return n.type.is_signed() ? exact_number{static_cast<int64_t>(n.imm)} : exact_number{n.imm};
}

exact_number least(value_type type) { return type.is_signed() ? -(exact_number{1} << (8 * type.num_bytes - 1)) : 0; }
exact_number most(value_type type) {
  return (exact_number{1} << (8 * type.num_bytes - (type.is_signed() ? 1 : 0))) - 1;
}
bool holds(value_type type, exact_number value) { return value >= least(type) && value <= most(type); }
std::string range_of(value_type type) { return fmt::format("{} to {}", least(type), most(type)); }

node_ptr literal_node(exact_number value) {
  for (const type_kind kind : {type_kind::u64, type_kind::i64})
    if (holds(value_type::of(kind), value))
      return number_node(value_type::of(kind), static_cast<uint64_t>(value), true);
  return nullptr;
}

std::optional<exact_number> exact_result(std::string_view op, exact_number a, exact_number b) {
  exact_number out = 0;
  switch (op[0]) {
    case '+': out = a + b; break;  // of 64 bits each
    case '-': out = a - b; break;
    case '*':
      if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
      break;
    case '<': out = b < 0 || b >= 64 ? 0 : a * (exact_number{1} << static_cast<int>(b)); break;
    case '/': out = b == 0 ? 0 : a / b; break;
    default: out = b == 0 ? 0 : a % b; break;
  }
  return out;
}

std::optional<misfit> misfit_of(const node& value, value_type type) {
  if (!value.is_number_constant() || !value.known || !type.is_number()) return std::nullopt;
  if (value.type.is_float()) return real_misfit(lane::f(value.imm), type);
  return value.type.is_integer() && type.is_integer() ? integer_misfit(exact_value(value), type) : std::nullopt;
}

}  // namespace flowrun::expr
