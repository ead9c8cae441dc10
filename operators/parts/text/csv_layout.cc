#include "operators/parts/text/csv_layout.h"

#include <algorithm>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/base/fault.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_value.h"

namespace flowrun::operators {

namespace {

// What the header may call a column that it doesn't seem to have: the same but for case and blanks, a name that is
// near, or the only one that has it as a part.
std::string likely_name(const std::string& wanted, const std::vector<std::string>& names) {
  const auto plain = [](std::string_view text) {
    std::string out;
    for (const char c : text)
      if (c != ' ' && c != '\t' && c != '_' && c != '-') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return out;
  };
  for (const std::string& name : names)
    if (plain(name) == plain(wanted)) return name;
  if (std::string near = nearest(wanted, names); !near.empty() || wanted.empty()) return near;
  std::string longer;
  for (const std::string& name : names) {
    if (plain(name).find(plain(wanted)) == std::string::npos) continue;
    if (!longer.empty()) return {};
    longer = name;
  }
  return longer;
}

[[noreturn]] void missing_column(const std::string& path, const std::string& wanted,
                                 const std::vector<std::string>& names) {
  const std::string likely = likely_name(wanted, names);
  throw error(
      error_kind::bad_data,
      fmt::format("{}:1: the header has no column {}; it has {}", path, quoted_excerpt(wanted), listed_names(names)),
      (likely.empty() ? std::string() : fmt::format("did you mean {}? ", quoted_excerpt(likely))) +
          "`names: {COLUMN: NAME}` says what the header calls a column of `type`; `delimiter` and `quote` say "
          "how its names are told apart");
}

}  // namespace

csv_layout csv_layout::in_order(size_t num_columns) {
  csv_layout out;
  out.num_fields = num_columns;
  for (size_t i = 0; i < num_columns; ++i) out.taken.push_back({i, i});
  return out;
}

csv_layout layout_by_header(const std::string& path, std::string_view record, const std::vector<std::string>& wanted,
                            const csv_format& format) {
  const std::vector<std::string> names = fields_of_record(record, format);
  std::unordered_map<std::string_view, size_t> column_of;
  for (size_t i = 0; i < wanted.size(); ++i) column_of.emplace(wanted[i], i);
  constexpr size_t nowhere = ~size_t{0};
  std::vector<size_t> field_of(wanted.size(), nowhere);
  csv_layout out;
  out.num_fields = names.size();
  for (size_t field = 0; field < names.size(); ++field) {
    const auto found = column_of.find(names[field]);
    if (found == column_of.end()) continue;
    size_t& first = field_of[found->second];
    if (first != nowhere)
      throw error(error_kind::bad_data,
                  fmt::format("{}:1: the header has the column {} twice, as fields {} and {}", path,
                              quoted_excerpt(names[field]), first + 1, field + 1),
                  "mend the header, or read the fields by their position: `columns: position`");
    first = field;
    out.taken.push_back({field, found->second});
  }
  for (size_t i = 0; i < wanted.size(); ++i)
    if (field_of[i] == nowhere) missing_column(path, wanted[i], names);
  return out;
}

}  // namespace flowrun::operators
