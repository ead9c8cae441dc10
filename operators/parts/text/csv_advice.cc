#include "operators/parts/text/csv_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "operators/parts/text/record_parsing.h"
#include "operators/parts/text/time_forms.h"

namespace flowrun::operators {

namespace {

// What programs and people write where they have no value, in small letters.
constexpr std::array<std::string_view, 19> texts_for_nothing = {
    "",  "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil",     "none",   "\\n",
    "-", "--", "---", "?",    ".",    "..",  "*",    "missing", "unknown"};

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

bool stands_for_nothing(std::string_view field) {
  std::string small = in_small_letters(field);
  const size_t first = std::min(small.find_first_not_of(' '), small.size());
  small = small.substr(first, small.find_last_not_of(' ') + 1 - first);
  return std::find(texts_for_nothing.begin(), texts_for_nothing.end(), small) != texts_for_nothing.end();
}

// As a text of YAML.
std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// What a column may become where its value is missing; empty for a type without a plain value.
std::string_view plain_value(record::value_type type) {
  if (type.is_number() || type.is_decimal()) return "0";
  if (type.is_boolean()) return "false";
  if (type.is_time()) return "1970-01-01";
  return "";
}

}  // namespace

std::string way_to_allow(const record::column& column) {
  const std::string told = fmt::format("missing: {{{0}: {0}_missing}}, which adds a bool column", column.name);
  const std::string_view value = plain_value(column.type);
  return value.empty() ? told : fmt::format("default: {{{}: {}}} or {}", column.name, value, told);
}

namespace {

// `null_values` with one more text, and what a missing value becomes, unless that is said already.
std::string advice_on_missing(const record::column& column, std::string_view field, const csv_missing& missing,
                              bool is_allowed) {
  std::string texts;
  for (const std::string& text : missing.texts) texts += in_quotes(text) + ", ";
  std::string out = fmt::format("if it stands for a missing value, say null_values: [{}{}]", texts, in_quotes(field));
  if (!is_allowed) out += ", and " + way_to_allow(column);
  return out;
}

std::string advice_on_time(const record::column& column, std::string_view field) {
  time_forms forms;
  forms.add(field);
  if (!forms.any()) return {};
  const std::string pattern = forms.best(std::nullopt).pattern;
  std::string out = fmt::format("for this form of times say format: {{{}: {}}}", column.name, in_quotes(pattern));
  if (!forms.ambiguous()) return out;
  const std::string first = forms.best(true).pattern, second = forms.best(false).pattern;
  return fmt::format("{}, or {} where the {} comes first", out, in_quotes(pattern == first ? second : first),
                     pattern == first ? "month" : "day");
}

}  // namespace

std::string advice_on_field(const record::row_type& type, size_t column, std::string_view field,
                            const csv_missing& missing, const csv_times& times) {
  if (field.size() > most_advised_bytes) return {};
  const record::column& of = type[column];
  if (missing.is_missing(field)) return "give it one of them: " + way_to_allow(of);
  if (stands_for_nothing(field)) return advice_on_missing(of, field, missing, missing.columns[column].allowed);
  return of.type.is_time() && !times.has(column) ? advice_on_time(of, field) : std::string();
}

std::string advice_on_name(const record::column& column, std::string_view field) {
  if (field == column.name) return "if this line is a header, say header: true, or columns: header to go by its names";
  if (in_small_letters(field) != in_small_letters(column.name)) return {};
  return fmt::format("if this line is a header, say columns: header, with names: {{{}: {}}}", column.name,
                     in_quotes(field));
}

}  // namespace flowrun::operators
