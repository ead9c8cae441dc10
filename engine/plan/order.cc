#include "engine/plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace flowrun::plan {

namespace {

// Whether rows that are sorted by `have`, where earlier keys are equal, are sorted by `need` as well. No key follows
// `need`.
bool covers(const order_term& have, const order_term& need) {
  if (have.column != need.column || have.descending != need.descending) return false;
  if (have == need) return true;
  // A prefix of bytes is sorted wherever all of them, or a longer prefix, are.
  return have.from == 0 && need.from == 0 && need.length > 0 && (have.length == 0 || have.length >= need.length);
}

}  // namespace

bool satisfies(const order& have, const order& need) {
  if (need.size() > have.size()) return false;
  for (size_t i = 0; i < need.size(); ++i) {
    const bool last = i + 1 == need.size();
    if (last ? !covers(have[i], need[i]) : have[i] != need[i]) return false;
  }
  return true;
}

bool adjacent(const order& have, const std::vector<std::string>& columns) {
  std::set<std::string> missing(columns.begin(), columns.end());
  const std::set<std::string> wanted = missing;
  for (const order_term& term : have) {
    if (missing.empty()) break;
    if (!wanted.contains(term.column)) return false;
    // A slice is a function of its column: it neither separates equal rows nor brings them together.
    if (term.length == 0) missing.erase(term.column);
  }
  return missing.empty();
}

order carried_over(const order& have, const std::vector<std::pair<std::string, std::string>>& renamed) {
  order kept;
  for (const order_term& term : have) {
    auto it = std::find(renamed.begin(), renamed.end(), std::pair(term.column, term.column));
    if (it == renamed.end())
      it = std::find_if(renamed.begin(), renamed.end(), [&](const auto& names) { return names.first == term.column; });
    if (it == renamed.end()) break;
    kept.push_back(term);
    kept.back().column = it->second;
  }
  return kept;
}

std::string to_string(const order& o) {
  if (o.empty()) return "nothing";
  std::string out;
  for (const order_term& term : o) {
    if (!out.empty()) out += ", ";
    if (term.descending) out += '-';
    out += term.column;
    if (term.length > 0) out += fmt::format("[{}:{}]", term.from, term.from + term.length);
  }
  return out;
}

}  // namespace flowrun::plan
