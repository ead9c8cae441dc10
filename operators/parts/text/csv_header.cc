#include "operators/parts/text/csv_header.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "operators/parts/text/csv_record.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/readable_text.h"

namespace flowrun::operators {

namespace {

constexpr size_t most_names_shown = 16;

}  // namespace

std::vector<std::string> fields_of_record(std::string_view record, const csv_format& format) {
  csv_record cut;
  cut.cut(record, format);
  std::vector<std::string> fields;
  for (const csv_field& field : cut.fields()) fields.push_back(field.text);
  return fields;
}

std::string listed_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    if (i == most_names_shown) return out + "…";
    const std::string quoted = quoted_excerpt(names[i]);
    const bool plain = !names[i].empty() && quoted.size() == names[i].size() + 2 && names[i].front() != ' ' &&
                       names[i].back() != ' ' && names[i].find(',') == std::string::npos;
    out += plain ? names[i] : quoted;
  }
  return out;
}

std::string advice_on_delimiter(std::string_view record, const std::vector<std::string>& wanted,
                                const csv_format& format) {
  const auto num_found = [&](const csv_format& how) {
    const std::vector<std::string> names = fields_of_record(record, how);
    return std::count_if(wanted.begin(), wanted.end(), [&names](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  auto most = num_found(format);
  std::string out;
  for (const char other : {';', '\t', ',', '|', ' '}) {
    if (format.quote == other) continue;
    const auto found = num_found({other, format.quote});
    if (found <= most) continue;
    most = found;
    out = fmt::format("say `delimiter: \"{}\"`, which parts the names of this header; ",
                      other == '\t' ? std::string("\\t") : std::string(1, other));
  }
  return out;
}

namespace {

// Of a header that has all of the columns, among others or in another order.
std::string advice_on_names(const std::vector<std::string>& found, const std::vector<std::string>& expected) {
  const auto has = [&found](const std::string& name) { return std::count(found.begin(), found.end(), name) == 1; };
  if (!std::all_of(expected.begin(), expected.end(), has)) return {};
  return "say `columns: header`, which takes the columns of `type` by these names and skips all others; or ";
}

}  // namespace

void check_csv_header(const std::string& path, std::string_view record, const record::row_type& type,
                      const csv_format& format) {
  const std::vector<std::string> found = fields_of_record(record, format);
  const std::vector<std::string> expected = type.names();
  if (found == expected) return;
  refuse_unreadable(path, record);
  size_t first = 0;
  while (first < found.size() && first < expected.size() && found[first] == expected[first]) ++first;
  throw error(
      error_kind::bad_data,
      first < most_names_shown
          ? fmt::format("{}:1: the header says {}; the type has {}", path, listed_names(found), listed_names(expected))
          : fmt::format("{}:1: field {} of the header is {}; the type has {}", path, first + 1,
                        first < found.size() ? quoted_excerpt(found[first]) : "missing",
                        first < expected.size() ? quoted_excerpt(expected[first]) : "no such column"),
      advice_on_delimiter(record, expected, format) + advice_on_names(found, expected) +
          "give `type` the columns in the file's order and by its names (`flowrun infer` prints it); if the names "
          "don't matter, say `header: false` and drop the first line before, or with `on_error: skip`");
}

}  // namespace flowrun::operators
