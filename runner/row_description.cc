#include "runner/row_description.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "specs/type_reader.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

std::string_view trimmed(std::string_view text) {
  const size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!trimmed(text).empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    out.push_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

record::value_type type_of(std::string_view text) {
  const auto type = record::parse_value_type(text);
  if (!type || type->is_string()) {
    const std::string meant = specs::value_type_hint(text);
    std::string names(record::value_type_names());
    constexpr std::string_view of_any_width = "string ";
    names.erase(names.find(of_any_width), of_any_width.size());
    throw error(error_kind::usage, fmt::format("'{}' is no type of a fixed width", text),
                fmt::format("{}{}one of {}", type ? "" : meant, type || meant.empty() ? "" : "; ", names));
  }
  return *type;
}

// "[from:to]", of a bytes column.
void take_slice(std::string_view text, const record::column& of, record::key_part& key) {
  const size_t colon = std::min(text.find(':'), text.size() - 1);
  const auto from = specs::to_uint(text.substr(1, colon - 1)),
             to = specs::to_uint(text.substr(colon + 1, text.size() - colon - 2));
  if (!text.ends_with(']') || !of.type.is_bytes() || !from || !to || *from >= *to || *to > of.type.num_bytes)
    throw error(error_kind::usage, fmt::format("'{}{}' is no part of a column", of.name, text),
                "column[from:to], of a bytes column, with bytes counted from 0, and without the one at `to`");
  key.from = static_cast<uint32_t>(*from);
  key.length = static_cast<uint32_t>(*to - *from);
}

}  // namespace

row_description parse_rows(std::string_view type, std::string_view by) {
  type = trimmed(type);
  if (type.starts_with('{') && type.ends_with('}')) type = type.substr(1, type.size() - 2);
  std::vector<record::column> columns;
  for (const std::string_view part : parts_of(type)) {
    const size_t colon = part.find(':');
    std::string name = colon == std::string_view::npos ? "value" : std::string(trimmed(part.substr(0, colon)));
    const std::string_view type_name = colon == std::string_view::npos ? part : trimmed(part.substr(colon + 1));
    if (std::any_of(columns.begin(), columns.end(), [&](const record::column& c) { return c.name == name; }))
      throw error(error_kind::usage, "two columns are called '" + name + "'",
                  "name every column: --type 'src: u64, dst: u64'");
    columns.push_back({std::move(name), type_of(type_name), 0});
  }
  if (columns.empty())
    throw error(error_kind::usage, "--type has no columns", "--type 'src: u64, dst: u64', or --type u64");
  row_description out;
  out.type = record::row_type(std::move(columns));
  out.key = parse_key(out.type, by);
  if (out.key.empty())
    for (size_t i = 0; i < out.type.num_columns(); ++i) out.key.push_back({i});
  return out;
}

record::key parse_key(const record::row_type& type, std::string_view by) {
  record::key out;
  for (std::string_view part : parts_of(by)) {
    record::key_part key;
    key.descending = part.starts_with('-');
    if (key.descending) part.remove_prefix(1);
    const std::string_view slice = part.substr(std::min(part.find('['), part.size()));
    part.remove_suffix(slice.size());
    const auto column = type.index_of(part);
    if (!column) {
      const std::string meant = did_you_mean(part, type.names());
      throw error(error_kind::usage, fmt::format("there is no column '{}' to sort by", part),
                  meant.empty() ? "the columns are " + to_string(type) : meant);
    }
    key.column = *column;
    if (!slice.empty()) take_slice(slice, type[*column], key);
    out.push_back(key);
  }
  return out;
}

std::string record_key_text(const row_description& rows) {
  std::string out;
  for (const record::key_part& part : rows.key) {
    if (!out.empty()) out += ", ";
    if (part.descending) out += '-';
    out += rows.type[part.column].name;
    if (part.length > 0) out += fmt::format("[{}:{}]", part.from, part.from + part.length);
  }
  return out;
}

}  // namespace flowrun::runner
