// What the fields of a column have been so far: enough to choose its type, and no more, however many there are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operators/parts/infer/missing_words.h"
#include "operators/parts/text/time_forms.h"

namespace flowrun::operators {

// Where a field stands: a line, or where that is not known a byte.
struct field_place {
  size_t file = 0;
  uint64_t line = 0;  // 0: not known
  uint64_t byte = 0;
};

struct column_evidence {
  // The texts of a kind: how many, and the first that is none.
  struct share {
    uint64_t count = 0;
    bool failed = false;
    std::string other{};
    field_place where{};
  };

  uint64_t cells = 0;
  // By the place in missing_words: fields without quotes, and in quotes.
  std::array<uint64_t, missing_words.size()> missing{}, quoted_missing{};
  uint64_t values = 0;  // all other fields

  share integers;  // of up to 64 bits
  share floats;    // integers of any size, too
  share dates;     // ISO 8601
  share timestamps;
  share booleans;              // true and false
  uint64_t long_integers = 0;  // too large for 64 bits
  uint64_t negative = 0;
  uint64_t with_plus = 0;
  uint64_t leading_zeros = 0;
  uint64_t above_i64 = 0;
  int64_t least_signed = INT64_MAX, most_signed = INT64_MIN;
  uint64_t least_unsigned = UINT64_MAX, most_unsigned = 0;
  double least = 0, most = 0;  // of the floats
  // Digits behind the point of the floats that are written as 12.50 is, which all have as many: 0 where they don't, or
  // one is written otherwise, with an exponent, say.
  uint64_t fraction_digits = 0;
  uint64_t rounded = 0;  // floats with digits that f64 doesn't have
  int64_t least_day = 0, last_day = 0;
  int64_t least_us = 0, most_us = 0;
  time_forms forms;

  uint64_t decimal_commas = 0;  // 1.234,5
  uint64_t grouped = 0;         // 1,234.5
  uint64_t padded_numbers = 0;  // with blanks around
  uint64_t yes_or_no = 0;       // words for true and false that are none here
  uint64_t not_utf8 = 0;
  uint64_t with_line_ends = 0;
  size_t shortest = SIZE_MAX, longest = 0;  // of the values, in bytes
  std::vector<std::string> different;       // up to most_different, in the order of their first
  bool more_different = false;
  static constexpr size_t most_different = 8;

  void add(std::string_view text, bool quoted, const field_place& at);
};

}  // namespace flowrun::operators
