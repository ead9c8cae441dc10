#include "engine/expr/arithmetic.h"

#include <fmt/format.h>

#include <optional>

#include "engine/expr/coerce.h"
#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

struct reporter {
  size_t offset;
  std::vector<problem>& problems;
  node_ptr operator()(std::string message, std::string expected, std::string hint) const {
    problems.push_back({offset, std::move(message), std::move(expected), std::move(hint)});
    return nullptr;
  }
};

// The number that + - * / % (of literals also <<) make of two constants, as on paper; a problem where its type doesn't
// hold it.
node_ptr constant_arithmetic(const std::string& op, const node& a, const node& b, std::optional<lane_kind> kind,
                             const reporter& fault) {
  const std::optional<exact_number> result = exact_result(op, exact_value(a), exact_value(b));
  const std::string sum = fmt::format("{} {} {}", exact_value(a), op, exact_value(b));
  if (a.literal && b.literal) {
    node_ptr literal = result ? literal_node(*result) : nullptr;
    if (literal != nullptr) return literal;
    return fault(fmt::format("{} does not fit in 64 bits", sum), "-9223372036854775808 to 18446744073709551615",
                 op != "<<" ? "write f64(x) to compute with floats"
                            : fmt::format("write {}({}) << {} for its low 64 bits", exact_value(a) < 0 ? "i64" : "u64",
                                          exact_value(a), exact_value(b)));
  }
  const value_type type = wide_type(*kind);
  if (result && holds(type, *result)) return number_node(type, static_cast<uint64_t>(*result));
  const value_type is_signed = value_type::of(type_kind::i64);
  const bool helps =
      result && holds(is_signed, *result) && holds(is_signed, exact_value(a)) && holds(is_signed, exact_value(b));
  return fault(result ? fmt::format("{} is {}, which {} does not hold", sum, *result, to_string(type))
                      : fmt::format("{} does not fit in 64 bits", sum),
               range_of(type), helps ? "write i64(x) for signed numbers" : "write f64(x) to compute with floats");
}

}  // namespace

bool is_unsigned_difference(const node& n) { return n.op == opcode::sub && n.type.is_unsigned() && !n.constant; }

bool asks_for_sign(const std::string& op, const node& a, const node& b) {
  const auto asks = [](const node& value, const node& bound) {
    return is_unsigned_difference(value) && is_known_integer(bound) && exact_value(bound) <= 0;
  };
  return op != "==" && op != "!=" && (asks(a, b) || asks(b, a));
}

node_ptr number_arithmetic(const std::string& op, size_t offset, const node_ptr& a, const node_ptr& b,
                           std::vector<problem>& problems) {
  const reporter fault{offset, problems};
  const bool literals = a->literal && b->literal && is_known_integer(*a) && is_known_integer(*b);
  if (op == "<<" && literals) return constant_arithmetic(op, *a, *b, {}, fault);
  if (op == "<<" || op == ">>") {
    const lane_kind kind = lane_kind_of(a->type);
    const bool is_signed = kind == lane_kind::signed_integer;
    const opcode code = op == "<<" ? opcode::shl : is_signed ? opcode::shr_i : opcode::shr_u;
    const node_ptr shifted = op_node(code, wide_type(kind), {a, b});
    return literals ? literal_node(exact_value(*shifted)) : shifted;
  }
  const std::optional<lane_kind> kind = common_kind({a, b});
  const bool on_paper = op != "&" && op != "|" && op != "^";
  if (on_paper && is_known_integer(*a) && is_known_integer(*b) && (kind || literals))
    return constant_arithmetic(op, *a, *b, kind, fault);
  if (!kind)
    return fault(
        fmt::format("'{}' of {} and {}: no integer type holds both", op, to_string(a->type), to_string(b->type)),
        "both signed, or both unsigned", common_kind_hint({a, b}));
  const bool real = *kind == lane_kind::real, is_signed = *kind == lane_kind::signed_integer;
  opcode code = opcode::add;
  switch (op[0]) {
    case '+': code = real ? opcode::add_f : opcode::add; break;
    case '-': code = real ? opcode::sub_f : opcode::sub; break;
    case '*': code = real ? opcode::mul_f : opcode::mul; break;
    case '/': code = real ? opcode::div_f : is_signed ? opcode::div_i : opcode::div_u; break;
    case '%': code = real ? opcode::rem_f : is_signed ? opcode::rem_i : opcode::rem_u; break;
    case '&': code = opcode::bit_and; break;
    case '|': code = opcode::bit_or; break;
    default: code = opcode::bit_xor; break;
  }
  const node_ptr result = op_node(code, wide_type(*kind), {to_kind(a, *kind), to_kind(b, *kind)});
  if (real) return with_exact_digits(op, a, b, result);
  return literals ? literal_node(exact_value(*result)) : result;
}

}  // namespace flowrun::expr
