#include "engine/expr/known_elsewhere.h"

#include <fmt/format.h>

namespace flowrun::expr {

namespace {

struct other_name {
  std::string_view name, write;
};
constexpr other_name others[] = {
    {"len", "length(text)"},
    {"strlen", "length(text)"},
    {"size", "length(text)"},
    {"substr", "text[a:b]"},
    {"substring", "text[a:b]"},
    {"left", "text[:n]"},
    {"strip", "trim(text)"},
    {"tolower", "lower(text)"},
    {"lcase", "lower(text)"},
    {"toupper", "upper(text)"},
    {"ucase", "upper(text)"},
    {"startswith", "starts_with(text, part)"},
    {"endswith", "ends_with(text, part)"},
    {"includes", "contains(text, part)"},
    {"str", "string(x)"},
    {"text", "string(x)"},
    {"to_string", "string(x)"},
    {"int", "i64(x), or to_i64(x) for a text"},
    {"to_int", "to_i64(text)"},
    {"parse_int", "to_i64(text)"},
    {"uint", "u64(x), or to_u64(x) for a text"},
    {"to_uint", "to_u64(text)"},
    {"float", "f64(x), or to_f64(x) for a text"},
    {"double", "f64(x), or to_f64(x) for a text"},
    {"to_float", "to_f64(text)"},
    {"parse_float", "to_f64(text)"},
    {"iif", "if(condition, a, b)"},
    {"ifelse", "if(condition, a, b)"},
    {"least", "min(a, b)"},
    {"greatest", "max(a, b)"},
    {"ceiling", "ceil(x)"},
    {"fabs", "abs(x)"},
    {"round", "floor(x + 0.5)"},
    {"mod", "a % b"},
    {"pow", "x * x, or 1 << n for 2^n"},
    {"random", "rand_f64(1, i), or rand(1, i) for 64 bits"},
    {"hash", "hash64(1, x)"},
    {"isnull", "x == '': there are no missing values"},
};

}  // namespace

std::string known_elsewhere(std::string_view function) {
  for (const other_name& o : others)
    if (o.name == function) return fmt::format("write {}", o.write);
  return {};
}

}  // namespace flowrun::expr
