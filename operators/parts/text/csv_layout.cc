#include "operators/parts/text/csv_layout.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/fault.h"
#include "operators/parts/text/csv_header.h"
#include "operators/parts/text/csv_value.h"
#include "operators/parts/text/readable_text.h"

namespace flowrun::operators {

namespace {

// Letters and digits only, small: what a header and a job may write in different ways.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80) out += c;
  }
  return out;
}

// What the header may call a column that it doesn't seem to have: the same but for case, blanks and points, a name that
// is near, or the only one that has it as a part.
std::string likely_name(const std::string& wanted, const std::vector<std::string>& names) {
  const std::string plain_wanted = plain(wanted);
  if (!plain_wanted.empty())
    for (const std::string& name : names)
      if (plain(name) == plain_wanted) return name;
  if (std::string near = nearest(wanted, names); !near.empty() || plain_wanted.empty()) return near;
  std::string longer;
  for (const std::string& name : names) {
    if (plain(name).find(plain_wanted) == std::string::npos) continue;
    if (!longer.empty()) return {};
    longer = name;
  }
  return longer;
}

constexpr size_t most_shown = 16;

std::string quoted_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == most_shown) return out + ", …";
    out += (i > 0 ? ", " : "") + quoted_excerpt(names[i]);
  }
  return out;
}

// Of a header `names` that lacks all of these columns: what is looked for, and the name in `type`.
[[noreturn]] void missing_columns(const std::string& path, std::string_view record,
                                  const std::vector<std::pair<std::string, std::string>>& missing,
                                  const std::vector<std::string>& names, const std::vector<std::string>& wanted,
                                  const csv_format& format) {
  std::vector<std::string> lacking, likely;
  std::string map;
  std::vector<std::string> free, sought;  // names of the header that no column has; columns that it lacks
  for (const std::string& name : names)
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) free.push_back(name);
  for (const auto& [name, column] : missing) sought.push_back(name);
  for (const auto& [name, column] : missing) {
    lacking.push_back(name);
    if (lacking.size() > most_shown) continue;  // to look for each of thousands would take long
    std::string near = likely_name(name, free);
    // A name stands for one column: for the one that is nearest to it.
    if (near.empty() || (sought.size() > 1 && likely_name(near, sought) != name)) continue;
    map += fmt::format("{}{}: {}", map.empty() ? "" : ", ", column, quoted_excerpt(near));
    likely.push_back(std::move(near));
  }
  std::string hint = advice_on_delimiter(record, wanted, format);
  if (hint.empty() && !likely.empty())
    hint = fmt::format("did you mean {}? Say `names: {{{}}}`; ", quoted_names(likely), map);
  throw error(error_kind::bad_data,
              fmt::format("{}:1: the header has no column{} {}; it has {}", path, lacking.size() == 1 ? "" : "s",
                          quoted_names(lacking), listed_names(names)),
              hint +
                  "`names: {COLUMN: NAME}` says what the header calls a column of `type`; `delimiter` and `quote` "
                  "say how its names are told apart");
}

}  // namespace

csv_layout csv_layout::in_order(size_t num_columns) {
  csv_layout out;
  out.num_fields = num_columns;
  for (size_t i = 0; i < num_columns; ++i) out.taken.push_back({i, i});
  return out;
}

csv_layout layout_by_header(const std::string& path, std::string_view record, const std::vector<std::string>& wanted,
                            const csv_format& format, const std::vector<std::string>& columns) {
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
      throw error(
          error_kind::bad_data,
          fmt::format("{}:1: the header has the column {} twice, as fields {} and {}", path,
                      quoted_excerpt(names[field]), first + 1, field + 1),
          "mend the header; or read the fields by their position, `columns: position`, of what tail -n +2 FILE gives");
    first = field;
    out.taken.push_back({field, found->second});
  }
  std::vector<std::pair<std::string, std::string>> missing;
  for (size_t i = 0; i < wanted.size(); ++i)
    if (field_of[i] == nowhere) missing.emplace_back(wanted[i], i < columns.size() ? columns[i] : wanted[i]);
  if (!missing.empty()) refuse_unreadable(path, record);
  if (!missing.empty()) missing_columns(path, record, missing, names, wanted, format);
  return out;
}

}  // namespace flowrun::operators
