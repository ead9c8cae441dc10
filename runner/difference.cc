#include "runner/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace flowrun::runner {

namespace {

using lines = std::vector<std::string>;

constexpr size_t context_lines = 2;

// Marked lines of expected[from, expected_end) and found[from, found_end).
class alignment {
 public:
  alignment(const lines& expected, const lines& found, size_t from, size_t expected_end, size_t found_end)
      : expected_(expected), found_(found), from_(from), rows_(expected_end - from), columns_(found_end - from) {}

  lines marked() {
    constexpr size_t most_cells = 4'000'000;
    size_t i = 0, j = 0;
    lines out;
    if ((rows_ + 1) * (columns_ + 1) <= most_cells) {
      measure();
      while (i < rows_ && j < columns_) {
        if (same(i, j))
          out.push_back("  " + expected_[from_ + i++]), ++j;
        else if (length(i + 1, j) >= length(i, j + 1))
          out.push_back("- " + expected_[from_ + i++]);
        else
          out.push_back("+ " + found_[from_ + j++]);
      }
    }
    while (i < rows_) out.push_back("- " + expected_[from_ + i++]);
    while (j < columns_) out.push_back("+ " + found_[from_ + j++]);
    return out;
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

lines difference(const lines& expected, const lines& found, size_t most_lines) {
  if (expected == found) return {};
  const size_t shorter = std::min(expected.size(), found.size());
  size_t begin = 0, end = 0;
  while (begin < shorter && expected[begin] == found[begin]) ++begin;
  while (end < shorter - begin && expected[expected.size() - 1 - end] == found[found.size() - 1 - end]) ++end;
  lines out;
  const size_t shown_from = begin - std::min(begin, context_lines);
  if (shown_from > 0) out.push_back(fmt::format("  … {} equal", shown_from));
  for (size_t i = shown_from; i < begin; ++i) out.push_back("  " + expected[i]);
  for (std::string& line : alignment(expected, found, begin, expected.size() - end, found.size() - end).marked())
    out.push_back(std::move(line));
  const size_t behind = std::min(end, context_lines);
  for (size_t i = 0; i < behind; ++i) out.push_back("  " + expected[expected.size() - end + i]);
  if (end > behind) out.push_back(fmt::format("  … {} equal", end - behind));
  if (out.size() > most_lines) {
    const size_t left = out.size() - most_lines;
    out.resize(most_lines);
    out.push_back(fmt::format("  … {} lines more", left));
  }
  return out;
}

}  // namespace flowrun::runner
