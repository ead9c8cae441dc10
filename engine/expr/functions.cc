// One table: name, signature and help for people, number of arguments and lowering for the checker.
#include "engine/expr/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/expr/arithmetic.h"
#include "engine/expr/byte_set.h"
#include "engine/expr/checker.h"
#include "engine/expr/coerce.h"
#include "engine/expr/conversion.h"
#include "engine/expr/decimals.h"
#include "engine/expr/exact.h"
#include "engine/expr/function_table.h"
#include "engine/expr/lane.h"
#include "engine/expr/outside_call.h"
#include "engine/expr/own_aggregates.h"
#include "engine/expr/text_fields.h"
#include "engine/expr/text_kernels.h"
#include "engine/expr/times.h"

namespace flowrun::expr {

namespace {

using record::type_kind;
using record::value_type;

value_type type_of(type_kind kind) { return value_type::of(kind); }

template <type_kind Kind>
node_ptr cast_to(const call_site& s) {
  if (const auto no = misfit_of(*s.args[0], value_type::of(Kind)))
    return s.fault(0, no->message, no->expected, no->hint);
  const node_ptr result = cast(s.args[0], value_type::of(Kind));
  if (result == nullptr && s.args[0]->type.is_time()) {
    const std::string text = converted_text("x", s.args[0]->type, value_type::of(Kind));
    return s.fault(0, fmt::format("{} can't become {}", to_string(s.args[0]->type), to_string(value_type::of(Kind))),
                   "a number or a bool",
                   text.empty() ? "compare it: x >= '2026-11-23'" : fmt::format("write {}", text));
  }
  if (result == nullptr)
    return s.fault(
        0, fmt::format("{} can't become {}", to_string(s.args[0]->type), to_string(value_type::of(Kind))),
        Kind == type_kind::boolean ? "a number" : "a number or a bool",
        fmt::format("write {} to read it from a text", converted_text("x", s.args[0]->type, value_type::of(Kind))));
  return result;
}

node_ptr if_function(const call_site& s) {
  if (!s.args[0]->type.is_boolean())
    return s.fault(0, fmt::format("the condition is {}", to_string(s.args[0]->type)), "bool",
                   s.args[0]->type.is_text()   ? "write x == 'text'"
                   : s.args[0]->type.is_time() ? "compare it: x >= '2026-11-23'"
                                               : "write x != 0");
  std::vector<node_ptr> values = {s.args[1], s.args[2]};
  if (!unify(values)) return no_common_type(s, 2, values);
  return op_node(values[0]->type.is_text() ? opcode::select_text : opcode::select, values[0]->type,
                 {s.args[0], values[0], values[1]});
}

// min and max over any number of arguments.
struct extreme_ops {
  opcode of_unsigned, of_signed, of_real, of_text;
  bool largest;
};

node_ptr extreme_of(const std::vector<node_ptr>& values, const extreme_ops& ops) {
  const value_type type = values[0]->type;
  const opcode op = type.is_text()    ? ops.of_text
                    : type.is_float() ? ops.of_real
                    : type.has_sign() ? ops.of_signed
                                      : ops.of_unsigned;
  node_ptr result = values[0];
  for (size_t k = 1; k < values.size(); ++k) result = op_node(op, type, {result, values[k]});
  return result;
}

node_ptr extreme(const call_site& s, const extreme_ops& ops) {
  const auto all = [&](auto holds) { return std::all_of(s.args.begin(), s.args.end(), holds); };
  const bool literals = all([](const node_ptr& v) { return v->literal && is_known_integer(*v); });
  if (literals) {
    const auto less = [](const node_ptr& a, const node_ptr& b) { return exact_value(*a) < exact_value(*b); };
    return *(ops.largest ? std::max_element(s.args.begin(), s.args.end(), less)
                         : std::min_element(s.args.begin(), s.args.end(), less));
  }
  std::vector<node_ptr> values = s.args;
  if (unify(values)) return extreme_of(values, ops);
  if (!all([](const node_ptr& v) { return v->type.is_integer(); })) return no_common_type(s, 0, values);
  std::vector<node_ptr> of_unsigned, of_signed;
  for (const node_ptr& v : s.args) (v->type.is_unsigned() ? of_unsigned : of_signed).push_back(v);
  unify(of_unsigned);
  unify(of_signed);
  return mixed_extreme(ops.largest, extreme_of(of_unsigned, ops), extreme_of(of_signed, ops));
}
node_ptr min_function(const call_site& s) {
  return extreme(s, {opcode::min_u, opcode::min_i, opcode::min_f, opcode::min_text, false});
}
node_ptr max_function(const call_site& s) {
  for (size_t i = 0; i < s.args.size(); ++i)  // max(a - b, 0)
    for (size_t k = 0; k < s.args.size(); ++k)
      if (is_unsigned_difference(*s.args[i]) && asks_for_sign("<", *s.args[i], *s.args[k]))
        return s.fault(i, unsigned_difference, {}, signed_difference_hint);
  return extreme(s, {opcode::max_u, opcode::max_i, opcode::max_f, opcode::max_text, true});
}

node_ptr abs_function(const call_site& s) {
  if (s.args[0]->type.is_decimal()) return absolute_decimal(s);
  if (!s.require_number(0)) return nullptr;
  const node_ptr& x = s.args[0];
  if (x->type.is_float()) return op_node(opcode::abs_f, type_of(type_kind::f64), {x});
  if (x->literal) return literal_node(exact_value(*x) < 0 ? -exact_value(*x) : exact_value(*x));
  if (x->type.is_signed()) return op_node(opcode::abs_i, type_of(type_kind::i64), {x});
  if (is_unsigned_difference(*x)) return s.fault(0, unsigned_difference, {}, signed_difference_hint);
  return retype_node(x, type_of(type_kind::u64));
}

template <opcode Op>
node_ptr real_function(const call_site& s) {
  if (!s.require_real(0)) return nullptr;
  return op_node(Op, type_of(type_kind::f64), {to_real(s.args[0])});
}
// Of a decimal, a decimal.
template <opcode Op, rounding How>
node_ptr whole_number(const call_site& s) {
  return s.args[0]->type.is_decimal() ? rounded_decimal(s, How) : real_function<Op>(s);
}

template <opcode Op>
node_ptr bits_function(const call_site& s) {
  return s.require_integer(0) ? op_node(Op, type_of(type_kind::u64), {s.args[0]}) : nullptr;
}

// Seeds are mixed first (once, when they are constants), so that seeds 0, 1, 2 … give unrelated streams.
node_ptr mixed_seed(const call_site& s) { return op_node(opcode::mix, type_of(type_kind::u64), {s.args[0]}); }

node_ptr hash64_function(const call_site& s) {
  if (!s.require_integer(0)) return nullptr;
  node_ptr hash = mixed_seed(s);
  for (size_t i = 1; i < s.args.size(); ++i) {
    node_ptr value = s.args[i];
    if (value->type.is_float()) value = op_node(opcode::plain_f, value->type, {value});
    hash =
        op_node(value->type.is_text() ? opcode::hash_text : opcode::hash_step, type_of(type_kind::u64), {hash, value});
  }
  return hash;
}

node_ptr rand_function(const call_site& s) {
  const bool seed = s.require_integer(0), counter = s.require_integer(1);
  if (!seed || !counter) return nullptr;
  return op_node(opcode::rand_at, type_of(type_kind::u64), {mixed_seed(s), s.args[1]});
}
node_ptr rand_f64_function(const call_site& s) {
  const node_ptr random = rand_function(s);
  return random == nullptr ? nullptr : op_node(opcode::unit_f, type_of(type_kind::f64), {random});
}

// Functions of texts only.
template <opcode Op, type_kind Result>
node_ptr text_function(const call_site& s) {
  bool texts = true;
  for (size_t i = 0; i < s.args.size(); ++i) texts = s.require_text(i) && texts;
  return texts ? op_node(Op, value_type::of(Result), s.args) : nullptr;
}

node_ptr to_i64_function(const call_site& s) {
  const value_type i64 = type_of(type_kind::i64);
  return s.args[0]->type.is_time() ? retype_node(s.args[0], i64) : text_function<opcode::text_to_i, type_kind::i64>(s);
}

node_ptr length_function(const call_site& s) {
  if (!s.require_text(0)) return nullptr;
  if (s.args[0]->type.is_bytes()) return number_node(type_of(type_kind::u64), s.args[0]->type.num_bytes);
  return op_node(opcode::length, type_of(type_kind::u64), {s.args[0]});
}

node_ptr concat_function(const call_site& s) {
  std::vector<node_ptr> parts;
  for (const node_ptr& arg : s.args) parts.push_back(as_text(arg));
  return op_node(opcode::concat, type_of(type_kind::string), std::move(parts));
}

// A text that is known while compiling; null, with a problem, otherwise.
const std::string* constant_text(const call_site& s, size_t i, std::string_view example) {
  if (!s.require_text(i)) return nullptr;
  if (s.args[i]->op == opcode::text_constant) return &s.args[i]->text;
  s.fault(i, "this is not a constant", std::string(example));
  return nullptr;
}

node_ptr fields_function(const call_site& s) {
  if (!s.require_text(0)) return nullptr;
  const std::string* const range_text = constant_text(s, 1, "a range of fields such as '2' or '1.3,2'");
  if (range_text == nullptr) return nullptr;
  std::string problem;
  const auto range = parse_field_range(*range_text, problem);
  if (!range)
    return s.fault(1, fmt::format("'{}' is no range of fields: {}", *range_text, problem),
                   "FIELD[.BYTE][b][,FIELD[.BYTE][b]] such as '2', '2,2' or '1.3b,4.2'");
  uint32_t flags = (range->first.skip_blanks ? field_flags::first_skips_blanks : 0) |
                   (range->last.skip_blanks ? field_flags::last_skips_blanks : 0);
  if (s.args.size() > 2) {
    const std::string* const separator = constant_text(s, 2, "one byte such as ','");
    if (separator == nullptr) return nullptr;
    if (separator->size() != 1)
      return s.fault(2, fmt::format("the separator has {} bytes", separator->size()), "one byte such as ','");
    flags |= (static_cast<uint32_t>(static_cast<unsigned char>((*separator)[0])) + 1) << field_flags::separator_shift;
  }
  std::vector<node_ptr> args = {as_text(s.args[0])};
  for (const uint64_t count : {range->first.field, range->first.byte, range->last.field, range->last.byte})
    args.push_back(number_node(type_of(type_kind::u64), count));
  return op_node(opcode::fields, type_of(type_kind::string), std::move(args), flags);
}

node_ptr keep_function(const call_site& s) {
  if (!s.require_text(0)) return nullptr;
  const std::string* const set = constant_text(s, 1, "a set of bytes such as 'a-z0-9'");
  if (set == nullptr) return nullptr;
  if (const auto wrong = byte_set_fault(*set)) return s.fault(1, *wrong, byte_set_expected);
  return op_node(opcode::keep, type_of(type_kind::string), {s.args[0], text_node(byte_set(*set))});
}

constexpr std::string_view integer_cast_help =
    "The low bits of an integer; a float saturates, NaN gives 0; true is 1. A constant that does not fit is a fault.";

constexpr function table[] = {
    {"if", "if(condition, a, b)", "a where the condition holds, else b. Both are brought to one type.", 3, 3,
     if_function},
    {"u8", "u8(x) → u8", integer_cast_help, 1, 1, cast_to<type_kind::u8>},
    {"u16", "u16(x) → u16", integer_cast_help, 1, 1, cast_to<type_kind::u16>},
    {"u24", "u24(x) → u24", integer_cast_help, 1, 1, cast_to<type_kind::u24>},
    {"u32", "u32(x) → u32", integer_cast_help, 1, 1, cast_to<type_kind::u32>},
    {"u40", "u40(x) → u40", integer_cast_help, 1, 1, cast_to<type_kind::u40>},
    {"u48", "u48(x) → u48", integer_cast_help, 1, 1, cast_to<type_kind::u48>},
    {"u64", "u64(x) → u64", integer_cast_help, 1, 1, cast_to<type_kind::u64>},
    {"i8", "i8(x) → i8", integer_cast_help, 1, 1, cast_to<type_kind::i8>},
    {"i16", "i16(x) → i16", integer_cast_help, 1, 1, cast_to<type_kind::i16>},
    {"i32", "i32(x) → i32", integer_cast_help, 1, 1, cast_to<type_kind::i32>},
    {"i64", "i64(x) → i64", integer_cast_help, 1, 1, cast_to<type_kind::i64>},
    {"f32", "f32(x) → f32", "The nearest single precision number.", 1, 1, cast_to<type_kind::f32>},
    {"f64", "f64(x) → f64", "The nearest double precision number.", 1, 1, cast_to<type_kind::f64>},
    {"bool", "bool(x) → bool", "x != 0.", 1, 1, cast_to<type_kind::boolean>},
    {"string", "string(x) → string",
     "A number in decimal (floats: the shortest text that reads back the same), true or false, or the text itself.", 1,
     1, cast_to<type_kind::string>},
    {"min", "min(a, b, …)", "The smallest; texts compare byte by byte. Of two floats of which one is NaN, the first.",
     2, any_number, min_function},
    {"max", "max(a, b, …)", "The largest; texts compare byte by byte. Of two floats of which one is NaN, the first.", 2,
     any_number, max_function},
    {"abs", "abs(x)",
     "The value without its sign; the smallest i64 stays as it is, and the smallest decimal ends the job.", 1, 1,
     abs_function},
    {"sqrt", "sqrt(x) → f64", "The square root; NaN below 0.", 1, 1, real_function<opcode::sqrt_f>},
    {"floor", "floor(x)", "The next whole number at or below x: f64, of a decimal decimal[0].", 1, 1,
     whole_number<opcode::floor_f, rounding::down>},
    {"ceil", "ceil(x)", "The next whole number at or above x: f64, of a decimal decimal[0].", 1, 1,
     whole_number<opcode::ceil_f, rounding::up>},
    {"bit_reverse", "bit_reverse(x) → u64", "The 64 bits in reverse order.", 1, 1, bits_function<opcode::bit_reverse>},
    {"popcount", "popcount(x) → u64", "How many of the 64 bits are set.", 1, 1, bits_function<opcode::popcount>},
    {"parity", "parity(x) → u64", "1 if an odd number of the 64 bits is set, else 0.", 1, 1,
     bits_function<opcode::parity>},
    {"clz", "clz(x) → u64", "Zero bits above the highest set bit of 64; 64 for 0.", 1, 1, bits_function<opcode::clz>},
    {"ctz", "ctz(x) → u64", "Zero bits below the lowest set bit; 64 for 0.", 1, 1, bits_function<opcode::ctz>},
    {"hash64", "hash64(seed, x, …) → u64",
     "A hash of the values; equal values hash equal whatever their width (but decimals of different scales don't). Not "
     "for secrets.",
     2, any_number, hash64_function},
    {"rand", "rand(seed, i) → u64", "The i-th number of a random sequence (splitmix64); the same on every run.", 2, 2,
     rand_function},
    {"rand_f64", "rand_f64(seed, i) → f64", "As rand, uniform in [0, 1).", 2, 2, rand_f64_function},
    {"length", "length(text) → u64", "Bytes of the text.", 1, 1, length_function},
    {"starts_with", "starts_with(text, part) → bool", "Whether the text starts with the part.", 2, 2,
     text_function<opcode::starts_with, type_kind::boolean>},
    {"ends_with", "ends_with(text, part) → bool", "Whether the text ends with the part.", 2, 2,
     text_function<opcode::ends_with, type_kind::boolean>},
    {"contains", "contains(text, part) → bool", "Whether the part occurs in the text.", 2, 2,
     text_function<opcode::contains, type_kind::boolean>},
    {"concat", "concat(a, b, …) → string", "The values one after the other; numbers as by string().", 1, any_number,
     concat_function},
    {"lower", "lower(text) → string", "A-Z as a-z; other bytes stay.", 1, 1,
     text_function<opcode::lower, type_kind::string>},
    {"upper", "upper(text) → string", "a-z as A-Z; other bytes stay.", 1, 1,
     text_function<opcode::upper, type_kind::string>},
    {"fields", "fields(text, range[, separator]) → string",
     "The part of the text that sort -k takes as a key. The range is a constant FIELD[.BYTE][b][,FIELD[.BYTE][b]], "
     "counted from 1: '2,2' is field 2, '2' all from there on, '1.3,1.5' bytes 3 to 5 of field 1; b counts bytes from "
     "the first that is not blank. Fields end at the separator, one byte; without one, each begins with the blanks "
     "before it.",
     2, 3, fields_function},
    {"keep", "keep(text, set) → string",
     "The bytes of the text that are in the set, a constant such as 'a-z0-9_'; a - at its end is one.", 2, 2,
     keep_function},
    {"decimal_key", "decimal_key(text) → string",
     "Bytes that sort as the decimal number that the text begins with, of any length and exact (sort -n): blanks, -, "
     "digits, point, digits; 0 if there is none.",
     1, 1, text_function<opcode::decimal_key, type_kind::string>},
    {"size_key", "size_key(text) → string",
     "Bytes that sort as sizes such as 900, 2K and 1.5G do (sort -h): by sign, then by unit, then by number.", 1, 1,
     text_function<opcode::size_key, type_kind::string>},
    {"real_key", "real_key(text) → string",
     "Bytes that sort as the floating-point number that the text begins with, of 64 binary digits (sort -g): first no "
     "number, then NaN, then numbers from -inf to inf.",
     1, 1, text_function<opcode::real_key, type_kind::string>},
    {"version_key", "version_key(text) → string",
     "Bytes that sort as names with versions do (sort -V): 1.9 before 1.10, 1.0~rc1 before 1.0.", 1, 1,
     text_function<opcode::version_key, type_kind::string>},
    {"to_u64", "to_u64(text) → u64", "The number that the whole text is; 0 if it is none or doesn't fit.", 1, 1,
     text_function<opcode::text_to_u, type_kind::u64>},
    {"to_i64", "to_i64(x) → i64",
     "The number that the whole text is; 0 if it is none or doesn't fit. Of a date the days since 1970-01-01, of a "
     "timestamp the microseconds.",
     1, 1, to_i64_function},
    {"to_f64", "to_f64(text) → f64", "The number that the whole text is; 0 if it is none or doesn't fit.", 1, 1,
     text_function<opcode::text_to_f, type_kind::f64>},
    {"is_number", "is_number(text) → bool", "Whether to_f64 can read the text.", 1, 1,
     text_function<opcode::is_number, type_kind::boolean>},
    {"crc32", "crc32(text) → u32", "The CRC-32 of zlib and Ethernet.", 1, 1,
     text_function<opcode::crc32, type_kind::u32>},
};

// Where the parts stand in the reference page: numbers with numbers, texts with texts.
constexpr std::string_view last_before_reals = "ceil";

std::vector<function> all_functions() {
  std::vector<function> out;
  const auto append = [&](std::span<const function> part) { out.insert(out.end(), part.begin(), part.end()); };
  for (const function& f : table) {
    out.push_back(f);
    if (f.name == last_before_reals) append(real_functions());
  }
  append(text_functions());
  append(decimal_functions());
  append(time_functions());
  append(regular_expression_functions());
  return out;
}

// The whole table.
const std::vector<function>& known_functions() {
  static const std::vector<function> functions = all_functions();
  return functions;
}

// A function of the table that has a `bind`.
class bound_function final : public outside_function {
 public:
  explicit bound_function(const function& f)
      : function_(f), help_{std::string(f.name), std::string(f.signature), std::string(f.help)} {}
  const function_help& help() const override { return help_; }
  size_t min_args() const override { return function_.min_args; }
  size_t max_args() const override { return function_.max_args; }
  std::variant<binding, binding_fault> bind(const std::vector<given_argument>& args) const override {
    return function_.bind(args);
  }

 private:
  const function& function_;
  function_help help_;
};

const std::map<std::string_view, bound_function>& bound_functions() {
  static const std::map<std::string_view, bound_function> functions = [] {
    std::map<std::string_view, bound_function> out;
    for (const function& f : known_functions())
      if (f.bind != nullptr) out.try_emplace(f.name, f);
    return out;
  }();
  return functions;
}

class never_run final : public bound_call {
 public:
  size_t run(const text_call&) const override { internal_error("a call ran before its constants had values"); }
};

std::string count_text(size_t min_args, size_t max_args) {
  const auto arguments = [](size_t n) { return counted(n, "argument"); };
  if (max_args == any_number) return fmt::format("{} or more arguments", min_args);
  return max_args > min_args + 1    ? fmt::format("{} to {}", min_args, arguments(max_args))
         : max_args == min_args + 1 ? fmt::format("{} or {}", min_args, arguments(max_args))
                                    : arguments(min_args);
}

}  // namespace

namespace {

// The first value that is no decimal, or that has no room for the digits behind the point that others have.
node_ptr no_common_decimal(const call_site& s, const node_ptr& decimal, const std::vector<node_ptr>& values) {
  const size_t first = s.args.size() - values.size();
  uint32_t scale = 0;
  for (const node_ptr& v : values)
    if (const node_ptr exact = exact_decimal(v)) scale = std::max<uint32_t>(scale, exact->type.scale);
  for (size_t k = 0; k < values.size(); ++k) {
    const value_type wide = value_type::decimal(scale);
    if (as_decimal(values[k], wide) != nullptr) continue;
    if (auto no = decimal_misfit(*values[k], wide)) return s.fault(first + k, no->message, no->expected, no->hint);
    if (values[k]->type.is_float()) continue;  // beside which decimals are floats
    operand_fault why = incomparable_decimals(decimal, values[k]);
    return s.fault(first + k,
                   fmt::format("{} and {} have no common type", to_string(decimal->type), to_string(values[k]->type)),
                   std::move(why.expected), std::move(why.hint));
  }
  return s.fault(first, "these values have no common type", "all decimals and numbers");
}

}  // namespace

node_ptr no_common_type(const call_site& s, size_t at, const std::vector<node_ptr>& values) {
  const size_t first = s.args.size() - values.size();
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i]->type.is_time())
      for (size_t k = 0; k < values.size(); ++k)
        if (values[k]->type != values[i]->type) {
          operand_fault why = incomparable_times(values[std::min(i, k)], values[std::max(i, k)]);
          const std::string types =
              fmt::format("{} and {} have no common type", to_string(values[i]->type), to_string(values[k]->type));
          const bool of_text = time_misfit(*values[k], values[i]->type).has_value();
          return s.fault(first + k, of_text ? why.message : types, std::move(why.expected), std::move(why.hint));
        }
  for (const node_ptr& v : values)
    if (v->type.is_decimal()) return no_common_decimal(s, v, values);
  const auto any = [&](auto holds) { return std::any_of(values.begin(), values.end(), holds); };
  const auto other =
      std::find_if(values.begin(), values.end(), [&](const node_ptr& v) { return v->type != values[0]->type; });
  const bool text = any([](const node_ptr& v) { return v->type.is_text(); });
  const bool truth = any([](const node_ptr& v) { return v->type.is_boolean(); });
  return s.fault(at,
                 fmt::format("{} and {} have no common type", to_string(values[0]->type), to_string((*other)->type)),
                 text || truth ? "all numbers, all texts or all bools" : "all signed, or all unsigned",
                 text    ? "write string(x) for what is no text"
                 : truth ? "write u8(x) to count true as 1"
                         : common_kind_hint(values));
}

node_ptr regex_matches_call(const call_site& site) {
  return bound_call_of(bound_functions().at("regex_matches"), site);
}

node_ptr bound_call_of(const outside_function& function, const call_site& site) {
  auto made = outside_call_node(function, site.args);
  if (node_ptr* value = std::get_if<node_ptr>(&made)) return std::move(*value);
  binding_fault& no = std::get<binding_fault>(made);
  if (no.argument) return site.fault(*no.argument, std::move(no.message), std::move(no.expected), std::move(no.hint));
  site.problems.push_back({site.call.offset, fmt::format("{}: {}", site.call.text, no.message), std::move(no.expected),
                           std::move(no.hint)});
  return nullptr;
}

std::optional<binding_fault> text_needed(const std::vector<given_argument>& args, size_t i) {
  if (args[i].type.is_text()) return {};
  return binding_fault{i, fmt::format("this is {}", to_string(args[i].type)), "string or bytes[N]", "write string(x)"};
}
std::optional<binding_fault> integer_needed(const std::vector<given_argument>& args, size_t i) {
  if (args[i].type.is_integer()) return {};
  return binding_fault{i, fmt::format("this is {}", to_string(args[i].type)), "an integer",
                       std::string(args[i].type.is_text()   ? "write to_u64(text)"
                                   : args[i].type.is_time() ? number_of_time_hint(args[i].type)
                                                            : "write i64(x)")};
}
std::shared_ptr<const bound_call> call_without_value() { return std::make_shared<never_run>(); }

node_ptr call_site::fault(size_t i, std::string message, std::string expected, std::string hint) const {
  problems.push_back(
      {call.children[i]->first, fmt::format("{}: {}", call.text, message), std::move(expected), std::move(hint)});
  return nullptr;
}

bool call_site::require_integer(size_t i) const {
  if (args[i]->type.is_integer()) return true;
  fault(i, fmt::format("this is {}", to_string(args[i]->type)), "an integer",
        std::string(args[i]->type.is_text()      ? "write to_u64(text), or hash64(1, text)"
                    : args[i]->type.is_time()    ? number_of_time_hint(args[i]->type)
                    : args[i]->type.is_decimal() ? integer_of_decimal_hint
                                                 : "write u64(x)"));
  return false;
}
bool call_site::require_signed(size_t i) const {
  const value_type type = args[i]->type;
  if (!type.is_text() && !type.is_float()) return require_integer(i);
  fault(i, fmt::format("this is {}", to_string(type)), "an integer",
        type.is_text() ? "write to_i64(text)" : "write i64(x)");
  return false;
}
bool call_site::require_number(size_t i) const {
  if (args[i]->type.is_number()) return true;
  fault(i, fmt::format("this is {}", to_string(args[i]->type)), "a number",
        std::string(args[i]->type.is_text()      ? "write to_f64(x) to read a number from a text"
                    : args[i]->type.is_time()    ? number_of_time_hint(args[i]->type)
                    : args[i]->type.is_decimal() ? "write f64(x)"
                                                 : "write u8(x) to count true as 1"));
  return false;
}
bool call_site::require_real(size_t i) const { return args[i]->type.is_decimal() || require_number(i); }
bool call_site::require_text(size_t i) const {
  if (args[i]->type.is_text()) return true;
  fault(i, fmt::format("this is {}", to_string(args[i]->type)), "string or bytes[N]", "write string(x)");
  return false;
}

bool require_count(const call_site& site, const function_help& f, size_t min_args, size_t max_args) {
  const size_t given = site.args.size();
  if (given >= min_args && given <= max_args) return true;
  site.problems.push_back({site.call.offset,
                           fmt::format("{} takes {}, not {}", site.call.text, count_text(min_args, max_args), given),
                           f.signature, ""});
  return false;
}

bool build_call(call_site& site, node_ptr& result) {
  const std::vector<function>& all = known_functions();
  const auto f = std::find_if(all.begin(), all.end(), [&](const function& g) { return g.name == site.call.text; });
  if (f == all.end()) return false;
  result = nullptr;
  if (!require_count(site, {"", std::string(f->signature), ""}, f->min_args, f->max_args)) return true;
  result = f->bind != nullptr ? bound_call_of(bound_functions().at(f->name), site) : f->build(site);
  return true;
}

const std::vector<function_help>& functions() {
  static const std::vector<function_help> help = [] {
    std::vector<function_help> out;
    for (const function& f : known_functions())
      out.push_back({std::string(f.name), std::string(f.signature), std::string(f.help)});
    return out;
  }();
  return help;
}

const std::vector<function_help>& operators() {
  static const std::vector<function_help> help = {
      {"[]", "text[i] → u8", "The byte at position i, 0 beyond the end. text[a:b] is a slice; a or b may be left out."},
      {"- + ~", "-x  +x  ~x", "Sign and bitwise complement; minus an unsigned integer is i64, and minus u64 a fault."},
      {"* / %", "a * b  a / b  a % b",
       "x / 0 and x % 0 are 0 for integers; / rounds toward 0 and % has the sign of a. Of decimals * is exact, / gives "
       "f64."},
      {"+ -", "a + b  a - b", "Modulo 2^64 for integers; exact for decimals, which end the job beyond their range."},
      {"<< >>", "a << n  a >> n", "Shifts by 64 or more give 0; >> of a signed integer keeps the sign."},
      {"&", "a & b", "Bitwise and."},
      {"^", "a ^ b", "Bitwise exclusive or."},
      {"|", "a | b", "Bitwise or."},
      {"== != < <= > >=", "a < b  (a, b) < (c, d)",
       "u64 against i64 is mathematically right; texts byte by byte; tuples lexicographically."},
      {"in", "x in (a, b, …)  x not in (a, b, …)",
       "Whether x is equal to one of them, by the rules of ==; tuples as well: (x, y) in ((1, 2), (3, 4)). What a long "
       "list of constants costs hardly depends on its length."},
      {"between", "x between a and b  x not between a and b", "x >= a and x <= b: both ends are in."},
      {"like", "text like pattern  text not like pattern",
       "Whether the whole text is as the pattern says, a constant: % is any text, _ one character of UTF-8. A "
       "backslash in front of them, or of itself, takes their meaning away, as in r'10\\%'; in '10\\\\%' it is written "
       "twice."},
      {"not", "not c", "Negation of a bool."},
      {"and", "c and d", "Both."},
      {"or", "c or d", "At least one."},
  };
  return help;
}

const std::vector<function_help>& aggregates() {
  static const std::vector<function_help> help = [] {
    std::vector<function_help> out = {
        {"count", "count([condition]) → u64", "Rows; with a condition, those for which it is true."},
        {"sum", "sum(x)",
         "The sum, modulo 2^64 for integers: u64, i64 or f64. Of decimals it is exact, in x's type; the job ends where "
         "it is beyond that."},
        {"min", "min(x)", "The smallest value, in x's type."},
        {"max", "max(x)", "The largest value, in x's type."},
        {"first", "first(x)", "The value of the first row in input order."},
        {"last", "last(x)", "The value of the last row in input order."},
        {"count_distinct", "count_distinct(x)",
         "How many different values there are. A group or a reduce counts where x changes from one row to the next: "
         "its input has to be sorted by its keys and the column x. A sort that combines sorts by x itself."},
    };
    out.insert(out.end(), own_aggregates().begin(), own_aggregates().end());
    return out;
  }();
  return help;
}

}  // namespace flowrun::expr
