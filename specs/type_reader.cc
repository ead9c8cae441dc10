#include "specs/type_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/fault.h"
#include "specs/grammar.h"

namespace flowrun::specs {

namespace {

const std::vector<std::string> value_types = {"u8",       "u16",    "u24",  "u32",       "u40",       "u48", "u64",
                                              "i8",       "i16",    "i32",  "i64",       "f32",       "f64", "bool",
                                              "bytes[N]", "string", "date", "timestamp", "decimal[S]"};

// Names that other systems use.
const habits foreign_types = {{"uint8", "u8"},
                              {"uint16", "u16"},
                              {"uint32", "u32"},
                              {"uint64", "u64"},
                              {"byte", "u8"},
                              {"uint", "u64"},
                              {"int8", "i8"},
                              {"int16", "i16"},
                              {"int32", "i32"},
                              {"int64", "i64"},
                              {"int", "i64"},
                              {"integer", "i64"},
                              {"long", "i64"},
                              {"bigint", "i64"},
                              {"float32", "f32"},
                              {"float64", "f64"},
                              {"float", "f64"},
                              {"double", "f64"},
                              {"boolean", "bool"},
                              {"str", "string"},
                              {"text", "string"},
                              {"varchar", "string"},
                              {"bytes", "bytes[N]"},
                              {"binary", "bytes[N]"},
                              {"char", "bytes[1]"},
                              {"short", "i16"},
                              {"smallint", "i16"},
                              {"tinyint", "i8"},
                              {"size", "u64"},
                              {"unsigned", "u64"},
                              {"real", "f64"},
                              {"number", "f64"},
                              {"logical", "bool"},
                              {"utf8", "string"},
                              {"blob", "bytes[N]"},
                              {"date32", "date"},
                              {"day", "date"},
                              {"datetime", "timestamp"},
                              {"timestamptz", "timestamp"},
                              {"datetime64", "timestamp"},
                              {"time", "timestamp"},
                              {"instant", "timestamp"},
                              {"decimal", "decimal[S]"},
                              {"decimal64", "decimal[S]"},
                              {"decimal128", "decimal[S]"},
                              {"numeric", "decimal[S]"},
                              {"dec", "decimal[S]"},
                              {"money", "decimal[S]"},
                              {"currency", "decimal[S]"},
                              {"fixed", "decimal[S]"}};

// What `word`, a name from another system, is called here; empty if no other system uses that name.
std::string_view foreign_type(std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (lower.ends_with("_t")) lower.resize(lower.size() - 2);
  for (const auto& [theirs, ours] : foreign_types)
    if (theirs == lower) return ours;
  for (const std::string& ours : value_types)
    if (ours == lower) return ours;
  return {};
}

// 16 in "bytes[16]" for the prefix "bytes[".
std::optional<uint64_t> number_within(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || !text.ends_with("]")) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  if (digits.find('x') != std::string_view::npos || digits.find('o') != std::string_view::npos) return std::nullopt;
  return to_uint(digits);
}
std::optional<uint64_t> bytes_length(std::string_view text) { return number_within(text, "bytes["); }
std::optional<uint64_t> decimal_scale(std::string_view text) { return number_within(text, "decimal["); }

// Of varchar(20), varchar.
std::string_view without_length(std::string_view word) {
  return word.substr(0, word.ends_with(')') ? word.find('(') : word.size());
}

// What decimal(12, 2), numeric(12,2) or dec(5), of SQL and Arrow, is called here; empty for other words.
std::string decimal_of_sql(std::string_view word) {
  const size_t open = word.find('(');
  if (open == std::string_view::npos || !word.ends_with(')') || foreign_type(word.substr(0, open)) != "decimal[S]")
    return {};
  std::string_view scale = "0", inside = word.substr(open + 1, word.size() - open - 2);
  if (const size_t comma = inside.find(','); comma != std::string_view::npos) scale = inside.substr(comma + 1);
  while (scale.starts_with(' ')) scale.remove_prefix(1);
  const std::optional<uint64_t> digits = to_uint(scale);
  if (!digits || *digits > max_decimal_scale) return {};
  return fmt::format("here it is called 'decimal[{}]': {} digits behind the point, in 64 bits", *digits, *digits);
}

void check_value_type(const std::string& word, const Position& position, fault_sink& faults) {
  if (is_value_type(word)) return;
  const std::string expected = one_of(value_types);
  if (bytes_length(word)) {
    faults.add(position, "'" + word + "' is out of range", "bytes[1] to bytes[" + std::to_string(max_bytes_type) + "]",
               "use string for text without a fixed length");
    return;
  }
  if (decimal_scale(word)) {
    faults.add(position, "'" + word + "' is out of range", fmt::format("decimal[0] to decimal[{}]", max_decimal_scale),
               "the number says how many digits are behind the point");
    return;
  }
  const std::string message = "unknown type '" + quotable(word) + "'";
  if (foreign_type(without_length(word)).empty() && decimal_of_sql(word).empty())
    faults.add_unknown(position, message, word, value_types);
  else
    faults.add(position, message, expected, value_type_hint(word));
}

void read_column(const Entry& entry, TypeDecl& type, fault_sink& faults) {
  bool good = true;
  if (!is_column_name(entry.key())) {
    faults.add(entry.key_position(), "'" + quotable(entry.key()) + "' is no name for a column",
               "a letter or _, then letters, digits and _", "expressions name columns, and '-' is a minus there");
    good = false;
  }
  const std::string* word = expect_text(entry, one_of(value_types), faults);
  if (!word) return;
  const size_t faults_before = faults.num_faults();
  check_value_type(*word, entry.value().position(), faults);
  if (!good || faults.num_faults() != faults_before) return;
  Column& column = *type.add_columns();
  column.set_name(entry.key());
  column.set_type(*word);
  *column.mutable_position() = entry.key_position();
  *column.mutable_type_position() = entry.value().position();
}

}  // namespace

bool is_value_type(std::string_view text) {
  if (const std::optional<uint64_t> length = bytes_length(text)) return *length >= 1 && *length <= max_bytes_type;
  if (const std::optional<uint64_t> scale = decimal_scale(text)) return *scale <= max_decimal_scale;
  return text != "bytes[N]" && text != "decimal[S]" &&
         std::find(value_types.begin(), value_types.end(), text) != value_types.end();
}

void read_types(const Entry& section, JobSpec& job, fault_sink& faults) {
  if (is_null(section.value())) return;
  if (!expect_map(section, "NAME: {column: type, …} for each type", faults)) return;
  for (const Entry& entry : section.value().map().entries()) {
    TypeDecl& type = *job.add_types();
    type.set_name(entry.key());
    *type.mutable_position() = entry.key_position();
    expect_id(entry, "a type", faults);
    if (is_value_type(entry.key()))
      faults.add(entry.key_position(), "'" + entry.key() + "' is a value type already", "another name");
    if (!expect_map(entry, "{column: type, …}", faults)) continue;
    if (entry.value().map().entries().empty())
      faults.add(entry.value().position(), "the type '" + quotable(entry.key()) + "' has no columns",
                 "{column: type, …}");
    for (const Entry& column : entry.value().map().entries()) read_column(column, type, faults);
  }
}

std::string value_type_hint(std::string_view word) {
  if (std::string here = decimal_of_sql(word); !here.empty()) return here;
  const std::string_view ours = foreign_type(without_length(word));
  if (ours == "bytes[1]" && word.ends_with(')')) return "write string, or bytes[N] for texts that are all as long";
  if (ours == "bytes[N]") return "say how many: \"bytes[16]\"";
  if (ours == "decimal[S]") return "say how many digits are behind the point: \"decimal[2]\"";
  // Python, pandas and SQL mean 64 bits, C and Arrow 32.
  if (ours == "f64") return "write f64, or f32 for half the space and 7 digits";
  return ours.empty() ? did_you_mean(word, value_types) : "here it is called '" + std::string(ours) + "'";
}

}  // namespace flowrun::specs
