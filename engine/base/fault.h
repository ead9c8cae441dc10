// A fault in a text that the user wrote: where, what, what was expected, and what they may have meant.
//
// `flowrun check` collects faults and reports all of them at once, so nothing here throws.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace flowrun {

// A place in a text. Lines and columns count from 1; 0 means unknown. Columns count bytes.
struct source_position {
  std::string file;
  int line = 0;
  int column = 0;
  bool operator==(const source_position&) const = default;
};

struct fault {
  source_position where;
  std::string message;   // what is wrong, one line, no full stop
  std::string expected;  // what would be right; may be empty
  std::string hint;      // "did you mean 'sort'?" or another way out; may be empty
};

// Renders as a compiler does, with the line and a caret:
//   job.yaml:7:9: error: unknown operator 'sorted'
//     7 |   a: {op: sorted, in: edges}
//       |           ^
//     expected: one of concat, filter, …
//     help: did you mean 'sort'?
// `text` is the whole file; the excerpt is left out when the position lies outside it.
std::string render(const fault& f, std::string_view text);

// All faults by position, duplicates removed, followed by "N faults in FILE". `of_alike`: of many that say the same, as
// where one name is wrong in 70 expressions, whether all are shown, or the first few and how many more there are.
enum class of_alike { all, few };
std::string render(std::vector<fault> faults, std::string_view text, of_alike shown = of_alike::all);

// The candidate that ends in "." and `word`; else the nearest in edit distance (insert, delete, change, swap), or empty
// when none is near enough to be a likely slip (more than a third of the letters differ).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "did you mean 'X'?" or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// "a, b, c" for the separator ", ".
std::string joined(const std::vector<std::string>& words, std::string_view separator);

// What would be right, out of a list: "one of a, b, c", and "…" behind the first `most`. A list of one is that word
// itself, an empty one is empty.
std::string one_of(const std::vector<std::string>& words, size_t most = 40);

}  // namespace flowrun
