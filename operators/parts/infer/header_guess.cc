#include "operators/parts/infer/header_guess.h"

#include <algorithm>

#include "operators/parts/infer/column_decision.h"
#include "operators/parts/infer/column_evidence.h"

namespace flowrun::operators {

namespace {

using records = std::span<const std::vector<csv_field>>;

// A value that no name of a column looks like.
bool is_value(const csv_field& field) {
  column_evidence seen;
  seen.add(field.text, field.quoted, {});
  return seen.values > 0 && !decide_column(seen, {}, std::nullopt).type.is_string();
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Where all columns are text: for (above 0) or against its being a header.
int vote_of(size_t column, const std::string& name, const column_evidence& seen, records all) {
  constexpr uint64_t several = 5, many = 20;
  int votes = 0;
  if (seen.values >= several && seen.shortest == seen.longest) votes += name.size() == seen.longest ? -1 : 1;
  if (seen.values >= many && !seen.more_different) ++votes;  // a few texts again and again, and the name is none
  const auto words = std::count_if(all.begin() + 1, all.end(), [&](const auto& r) { return is_word(r[column].text); });
  if (is_word(name) && words * 2 < static_cast<std::ptrdiff_t>(all.size() - 1)) ++votes;
  return votes;
}

}  // namespace

header_guess guess_header(records all) {
  if (all.empty()) return {};
  const std::vector<csv_field>& first = all.front();
  const bool has_values = std::any_of(first.begin(), first.end(), is_value);
  if (all.size() == 1)
    return {false,
            has_values ? "" : "there is only one line, and it was taken for a row: --header yes if it is a header"};
  const auto num_empty = std::count_if(first.begin(), first.end(), [](const csv_field& f) { return f.text.empty(); });
  if (num_empty > 1 && static_cast<size_t>(num_empty) * 2 >= first.size())
    return {false, has_values || static_cast<size_t>(num_empty) == first.size()
                       ? ""
                       : "half of line 1 is empty or more, and it was taken for a row: --header yes if it is a header"};
  std::vector<column_evidence> seen(first.size());
  for (const std::vector<csv_field>& record : all.subspan(1))
    for (size_t i = 0; i < first.size(); ++i) seen[i].add(record[i].text, record[i].quoted, {});
  int votes = 0;
  bool differs = false;  // a word over a column of numbers, say, or nothing over numbers of rows
  bool repeated = false;
  for (size_t i = 0; i < first.size(); ++i) {
    const std::string& name = first[i].text;
    const bool has_type = seen[i].values > 0 && !decide_column(seen[i], {}, std::nullopt).type.is_string();
    const bool is_index = i == 0 && name.empty() && first.size() > 1 && seen[i].values == seen[i].cells;
    differs = differs || (has_type && (is_index || !missing_word(name)) && !is_value(first[i]));
    repeated = repeated || std::any_of(all.begin() + 1, all.end(),
                                       [&](const auto& r) { return !name.empty() && r[i].text == name; });
    votes += vote_of(i, name, seen[i], all);
  }
  if (differs && !has_values) return {true, {}};
  if (differs) return {true, "line 1 was taken for a header, though it has numbers: --header no if it is a row"};
  if (has_values) return {};
  const bool is_header = !repeated && votes > 0;
  return {is_header, is_header
                         ? "all columns are text, and line 1 was taken for a header: --header no if it is a row"
                         : "all columns are text, and line 1 was taken for a row: --header yes if it is a header"};
}

}  // namespace flowrun::operators
