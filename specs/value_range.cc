#include "specs/value_range.h"

#include <optional>

#include "engine/base/units.h"
#include "specs/grammar.h"
#include "specs/parameters.h"
#include "specs/value.h"

namespace flowrun::specs {

namespace {

// A number of any of the types, exactly: integers to 64 bits don't fit a double.
struct number {
  bool negative = false;
  uint64_t magnitude = 0;
  double fraction = 0;  // a float as a whole; else 0
};

std::optional<number> number_of(ParamType type, const std::string& text) {
  if (type == PARAM_FLOAT) {
    const std::optional<double> value = to_double(text);
    return value ? std::optional(number{false, 0, *value}) : std::nullopt;
  }
  if (type == PARAM_BYTES) {
    const std::optional<uint64_t> value = parse_bytes(text);
    return value ? std::optional(number{false, *value, 0}) : std::nullopt;
  }
  if (type != PARAM_INT) return std::nullopt;
  if (const std::optional<uint64_t> value = to_uint(text)) return number{false, *value, 0};
  const std::optional<int64_t> value = to_int(text);
  return value ? std::optional(number{*value < 0, uint64_t{0} - static_cast<uint64_t>(*value), 0}) : std::nullopt;
}

bool is_less(const number& a, const number& b) {
  if (a.fraction != b.fraction) return a.fraction < b.fraction;
  if (a.negative != b.negative) return a.negative;
  return a.negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
}

bool read_bound(const Entry& entry, const Param& param, std::string& bound, fault_sink& faults) {
  if (param.type() != PARAM_INT && param.type() != PARAM_FLOAT && param.type() != PARAM_BYTES) {
    faults.add(entry.key_position(),
               "a parameter of type " + std::string(param_type_name(param.type())) + " has no '" + entry.key() + "'",
               "'" + entry.key() + "' of an int, a float or bytes only");
    return false;
  }
  const std::string* text = expect_text(entry, "a number", faults);
  if (!text) return false;
  if (!number_of(param.type(), *text)) {
    faults.add(entry.value().position(),
               "'" + quotable(*text) + "' is no " + std::string(param_type_name(param.type())), "a number");
    return false;
  }
  bound = *text;
  return true;
}

}  // namespace

bool read_range(const Value& declaration, const Param& param, value_range& range, fault_sink& faults) {
  bool good = true;
  const Entry* least = find_entry(declaration, "min");
  const Entry* greatest = find_entry(declaration, "max");
  if (least) good = read_bound(*least, param, range.min, faults);
  if (greatest) good = read_bound(*greatest, param, range.max, faults) && good;
  if (!good || in_range(param.type(), range.min, range)) return good;
  faults.add(greatest->value().position(),
             "'max' of the parameter '" + quotable(param.name()) + "' is less than its 'min'", "at least " + range.min);
  return false;
}

bool in_range(ParamType type, const std::string& text, const value_range& range) {
  const std::optional<number> value = number_of(type, text);
  if (!value) return true;
  const std::optional<number> least = number_of(type, range.min);
  const std::optional<number> greatest = number_of(type, range.max);
  return !(least && is_less(*value, *least)) && !(greatest && is_less(*greatest, *value));
}

std::string range_text(const value_range& range) {
  if (!range.min.empty() && !range.max.empty()) return range.min + " to " + range.max;
  return range.min.empty() ? "at most " + range.max : "at least " + range.min;
}

}  // namespace flowrun::specs
