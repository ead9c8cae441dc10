#include "engine/base/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "engine/base/counted.h"

namespace flowrun {

namespace {

std::string_view line_of(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

constexpr size_t longest_word = 64;  // longer words are no slips of typing

// Restricted Damerau-Levenshtein distance of two words, if it is less than `bound`; else `bound`.
size_t edit_distance(std::string_view a, std::string_view b, size_t bound) {
  // What both begin or end with changes nothing. Words of one list often have much of that in common.
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= bound) return bound;
  std::array<size_t, longest_word + 1> rows[3];  // of the table: row i is rows[i % 3]
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  size_t least_before = 0;
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    size_t least = row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    // Whatever comes is made of these two rows.
    if (least >= bound && least_before >= bound) return bound;
    least_before = least;
  }
  return std::min(bound, rows[a.size() % 3][b.size()]);
}

// " in job.yaml", or how many each place has: ": 1 in -p a=b, 2 in job.yaml". The faults are in order.
std::string places_of(const std::vector<fault>& faults) {
  const std::string& first = faults.front().where.file;
  if (first == faults.back().where.file) return first.empty() ? "" : " in " + first;
  std::string out;
  for (size_t begin = 0; begin < faults.size();) {
    const std::string& place = faults[begin].where.file;
    size_t end = begin;
    while (end < faults.size() && faults[end].where.file == place) ++end;
    out += fmt::format("{} {} in {}", out.empty() ? ":" : ",", end - begin, place.empty() ? "no file" : place);
    begin = end;
  }
  return out;
}

// Of faults that say the same in one file so many are shown, unless there are few.
constexpr size_t first_alike = 3;
constexpr size_t few = 5;

auto said(const fault& f) { return std::tie(f.where.file, f.message, f.expected, f.hint); }

// For each fault how many before it say the same; 0 for all of those that are few. The faults are in order.
std::vector<size_t> numbers_alike(const std::vector<fault>& faults) {
  std::map<decltype(said(faults.front())), std::vector<size_t>> groups;
  for (size_t i = 0; i < faults.size(); ++i) groups[said(faults[i])].push_back(i);
  std::vector<size_t> out(faults.size());
  for (const auto& [what, members] : groups)
    for (size_t i = 0; members.size() > few && i < members.size(); ++i) out[members[i]] = i;
  return out;
}

// "  and 67 more like it, in lines 12 to 78; -v shows all", of the faults that are not shown, from `first` on.
std::string others_alike(const std::vector<fault>& faults, const std::vector<size_t>& alike, size_t first) {
  size_t number = 0;
  int last_line = 0;
  for (size_t i = first; i < faults.size(); ++i) {
    if (alike[i] < first_alike || said(faults[i]) != said(faults[first])) continue;
    ++number;
    last_line = faults[i].where.line;
  }
  const int first_line = faults[first].where.line;
  std::string places;
  if (first_line > 0)
    places = first_line == last_line ? fmt::format(", in line {}", first_line)
                                     : fmt::format(", in lines {} to {}", first_line, last_line);
  return fmt::format("  and {} more like it{}; -v shows all\n", number, places);
}

}  // namespace

std::string render(const fault& f, std::string_view text) {
  std::string out;
  if (!f.where.file.empty()) out += f.where.file + ":";
  if (f.where.line > 0) out += fmt::format("{}:{}:", f.where.line, f.where.column);
  if (!out.empty()) out += ' ';
  out += "error: " + f.message + "\n";
  std::string_view line = f.where.line > 0 ? line_of(text, f.where.line) : std::string_view{};
  if (!line.empty()) {
    constexpr size_t most = 160;  // a longer line is cut around the caret
    size_t column = f.where.column > 0 ? static_cast<size_t>(f.where.column) - 1 : 0;
    column = std::min(column, line.size());
    size_t from = 0;
    if (line.size() > most && column > most / 2) from = column - most / 2;
    const std::string number = std::to_string(f.where.line);
    std::string excerpt(line.substr(from, most));
    std::string pad;
    for (char c : excerpt.substr(0, column - from)) pad += c == '\t' ? '\t' : ' ';
    for (char& c : excerpt)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') c = '?';
    out += fmt::format("  {} | {}\n  {} | {}^\n", number, excerpt, std::string(number.size(), ' '), pad);
  }
  if (!f.expected.empty()) out += "  expected: " + f.expected + "\n";
  if (!f.hint.empty()) out += "  help: " + f.hint + "\n";
  return out;
}

std::string render(std::vector<fault> faults, std::string_view text, of_alike shown) {
  auto key = [](const fault& f) { return std::tie(f.where.file, f.where.line, f.where.column, f.message); };
  std::stable_sort(faults.begin(), faults.end(), [&](const fault& a, const fault& b) { return key(a) < key(b); });
  faults.erase(
      std::unique(faults.begin(), faults.end(), [&](const fault& a, const fault& b) { return key(a) == key(b); }),
      faults.end());
  const std::vector<size_t> alike = shown == of_alike::all ? std::vector<size_t>(faults.size()) : numbers_alike(faults);
  std::string out;
  for (size_t i = 0; i < faults.size(); ++i) {
    if (alike[i] == first_alike) out += others_alike(faults, alike, i);
    if (alike[i] < first_alike) out += render(faults[i], text);
  }
  if (!faults.empty()) {
    out += fmt::format("{}{}\n", counted(faults.size(), "fault"), places_of(faults));
  }
  return out;
}

namespace {

// The one candidate of which a short word has letters in their order, the first one among them: gz for gzip.
std::string abbreviated(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t longest_abbreviation = 3;
  if (word.size() < 2 || word.size() > longest_abbreviation) return {};
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > longest_word || candidate[0] != word[0]) continue;
    size_t matched = 0;
    for (const char c : candidate)
      if (matched < word.size() && c == word[matched]) ++matched;
    if (matched < word.size()) continue;
    if (!found.empty()) return {};
    found = candidate;
  }
  return found;
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > longest_word) return {};
  const std::string behind_prefix = fmt::format(".{}", word);
  for (const std::string& candidate : candidates)
    if (!word.empty() && candidate.ends_with(behind_prefix)) return candidate;
  std::string best = abbreviated(word, candidates);
  if (!best.empty()) return best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_word) continue;
    const size_t distance = edit_distance(word, candidate, best_distance);
    if (distance < best_distance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best = nearest(word, candidates);
  return best.empty() ? best : "did you mean '" + best + "'?";
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) {
    if (&word != &words.front()) out += separator;
    out += word;
  }
  return out;
}

std::string one_of(const std::vector<std::string>& words, size_t most) {
  if (words.size() <= most) return (words.size() > 1 ? "one of " : "") + joined(words, ", ");
  return "one of " + joined({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(most)}, ", ") + ", …";
}

}  // namespace flowrun
