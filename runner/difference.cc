#include "runner/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace flowrun::runner {

namespace {

using lines = std::vector<std::string>;

constexpr size_t context_lines = 2;

// Of expected[from, expected_end) and found[from, found_end).
class alignment {
 public:
  alignment(const lines& expected, const lines& found, size_t from, size_t expected_end, size_t found_end)
      : expected_(expected), found_(found), from_(from), rows_(expected_end - from), columns_(found_end - from) {}

  void add_to(std::vector<difference_step>& out) {
    constexpr size_t most_cells = 4'000'000;
    size_t i = 0, j = 0;
    if ((rows_ + 1) * (columns_ + 1) <= most_cells) {
      measure();
      while (i < rows_ && j < columns_) {
        if (same(i, j)) {
          out.push_back(difference_step::both);
          ++i, ++j;
        } else if (length(i + 1, j) >= length(i, j + 1)) {
          out.push_back(difference_step::expected);
          ++i;
        } else {
          out.push_back(difference_step::found);
          ++j;
        }
      }
    }
    out.insert(out.end(), rows_ - i, difference_step::expected);
    out.insert(out.end(), columns_ - j, difference_step::found);
  }

 private:
  bool same(size_t i, size_t j) const { return expected_[from_ + i] == found_[from_ + j]; }
  // Of the longest common subsequence from row i and column j on.
  uint32_t& length(size_t i, size_t j) { return lengths_[i * (columns_ + 1) + j]; }
  void measure() {
    lengths_.assign((rows_ + 1) * (columns_ + 1), 0);
    for (size_t i = rows_; i-- > 0;)
      for (size_t j = columns_; j-- > 0;)
        length(i, j) = same(i, j) ? length(i + 1, j + 1) + 1 : std::max(length(i + 1, j), length(i, j + 1));
  }

  const lines& expected_;
  const lines& found_;
  const size_t from_;
  const size_t rows_;
  const size_t columns_;
  std::vector<uint32_t> lengths_;
};

}  // namespace

std::vector<difference_step> difference_steps(const lines& expected, const lines& found) {
  const size_t shorter = std::min(expected.size(), found.size());
  size_t begin = 0, end = 0;
  while (begin < shorter && expected[begin] == found[begin]) ++begin;
  while (end < shorter - begin && expected[expected.size() - 1 - end] == found[found.size() - 1 - end]) ++end;
  std::vector<difference_step> out(begin, difference_step::both);
  alignment(expected, found, begin, expected.size() - end, found.size() - end).add_to(out);
  out.insert(out.end(), end, difference_step::both);
  return out;
}

lines difference(const lines& expected, const lines& found, size_t most_lines) {
  if (expected == found) return {};
  const std::vector<difference_step> steps = difference_steps(expected, found);
  const auto differs = [](difference_step step) { return step != difference_step::both; };
  const auto begin = static_cast<size_t>(std::find_if(steps.begin(), steps.end(), differs) - steps.begin());
  const auto end = static_cast<size_t>(std::find_if(steps.rbegin(), steps.rend(), differs) - steps.rbegin());
  const size_t shown_from = begin - std::min(begin, context_lines);
  const size_t shown_to = steps.size() - end + std::min(end, context_lines);
  lines out;
  if (shown_from > 0) out.push_back(fmt::format("  … {} equal", shown_from));
  size_t i = shown_from, j = shown_from;
  for (size_t at = shown_from; at < shown_to; ++at) {
    const bool was_found = steps[at] == difference_step::found;
    const std::string& line = was_found ? found[j] : expected[i];
    out.push_back((was_found ? "+ " : steps[at] == difference_step::both ? "  " : "- ") + line);
    if (!was_found) ++i;
    if (steps[at] != difference_step::expected) ++j;
  }
  if (shown_to < steps.size()) out.push_back(fmt::format("  … {} equal", steps.size() - shown_to));
  if (out.size() > most_lines) {
    const size_t left = out.size() - most_lines;
    out.resize(most_lines);
    out.push_back(fmt::format("  … {} lines more", left));
  }
  return out;
}

}  // namespace flowrun::runner
