// What the parsers of text files say about it: of a record that is no row, and how far they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::operators {

// A record that is no row of the type.
struct malformed_record {
  std::string_view text;  // the whole record without its line end
  uint64_t line = 0;      // of the field at fault, counted from 1 in the file
  uint64_t column = 0;    // of its first byte in that line, counted from 1
  std::string reason;     // `expected u32, got "x"`
  // Where a field has no value of its column: which column of the type, and the field's text, or its beginning. Advice
  // is made of them, once for all records (rejection_words::advise).
  std::optional<size_t> wrong_column{};
  std::string wrong_field{};
};
// Of a field that advice is made of; it looks at short ones only.
constexpr size_t most_advised_bytes = 64;
// False: the rest of the text is left alone.
using record_rejecter = std::function<bool(const malformed_record&)>;

// What became of a text.
struct parse_progress {
  uint64_t num_records = 0;
  size_t num_bytes = 0;  // of the text, from its beginning: whole records
};

}  // namespace flowrun::operators
