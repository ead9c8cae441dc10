#include "engine/record/value_type_hint.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <vector>

#include "engine/base/fault.h"
#include "engine/record/value_type.h"

namespace flowrun::record {

namespace {

// Types of other languages and formats. Those with a number in their name are found by it.
struct other_name {
  std::string_view name, type;
};

constexpr other_name other_names[] = {
    {"int", "i64"},      {"integer", "i64"},    {"long", "i64"},        {"bigint", "i64"},    {"smallint", "i16"},
    {"short", "i16"},    {"tinyint", "i8"},     {"char", "i8"},         {"uint", "u64"},      {"ulong", "u64"},
    {"unsigned", "u64"}, {"size_t", "u64"},     {"ushort", "u16"},      {"byte", "u8"},       {"uchar", "u8"},
    {"float", "f64"},    {"double", "f64"},     {"real", "f64"},        {"number", "f64"},    {"single", "f32"},
    {"boolean", "bool"}, {"logical", "bool"},   {"text", "string"},     {"str", "string"},    {"varchar", "string"},
    {"utf8", "string"},  {"bytes", "bytes[N]"}, {"binary", "bytes[N]"}, {"blob", "bytes[N]"}, {"fixed", "bytes[N]"},
};

// uint32_t, Int64, float32: the family's letter and the number of bits.
std::string by_bits(std::string_view word) {
  if (word.ends_with("_t")) word.remove_suffix(2);
  for (const auto& [family, letter] : {other_name{"uint", "u"}, {"int", "i"}, {"float", "f"}})
    if (word.starts_with(family)) {
      std::string type = std::string(letter) + std::string(word.substr(family.size()));
      return parse_value_type(type) ? type : std::string();
    }
  return {};
}

}  // namespace

std::string value_type_hint(std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string meant = parse_value_type(lower) ? lower : by_bits(lower);
  for (const other_name& o : other_names)
    if (o.name == lower) meant = o.type;
  if (!meant.empty()) return "did you mean '" + meant + "'?";
  std::istringstream list{std::string(value_type_names())};
  return did_you_mean(word, {std::istream_iterator<std::string>(list), {}});
}

}  // namespace flowrun::record
