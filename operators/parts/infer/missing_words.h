// The texts that files have where a value is missing.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace flowrun::operators {

constexpr std::array<std::string_view, 22> missing_words = {
    "",     "NA",  "N/A", "n/a", "na", "#N/A", "NULL", "Null", "null", "\\N",    "None",
    "none", "nil", "NaN", "nan", "-",  "--",   "?",    ".",    "..",   "(null)", "<NA>"};

// Its place among them.
inline std::optional<size_t> missing_word(std::string_view text) {
  constexpr size_t longest = 6;
  if (text.size() > longest) return std::nullopt;
  for (size_t i = 0; i < missing_words.size(); ++i)
    if (missing_words[i] == text) return i;
  return std::nullopt;
}

// "NaN" and "nan", which are numbers where a column has floats.
inline bool is_float_word(size_t word) { return missing_words[word] == "NaN" || missing_words[word] == "nan"; }

}  // namespace flowrun::operators
