// Which part of a line is a key: the field ranges of sort(1).
//
// A range is written FIRST[,LAST], and FIRST and LAST are FIELD[.BYTE][b], counted from 1: '2', '2,2', '1.3b,4.2'.
// Fields are either separated by one byte, or each begins with the blanks (spaces, tabs, line ends) before it. A range
// without LAST goes to the end of the text, LAST without BYTE (or with byte 0) to the end of its field. `b` counts
// bytes from the first that is not blank. What lies beyond the end of a text is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun::expr {

struct field_position {
  uint64_t field = 0;  // whole fields before it
  uint64_t byte = 0;   // bytes before it in its field; of an end: 0 for the whole field
  bool skip_blanks = false;
};

struct field_range {
  static constexpr uint64_t unbounded = uint64_t{1} << 62;  // larger counts are as good as this
  static constexpr int blanks = -1;

  field_position first;
  field_position last{unbounded, 0, false};  // `field` fields are jumped over; then `byte` bytes, or one field more
  int separator = blanks;                    // or a byte's value
};

// What the primitive `fields` has beside its four counts: flags, and the separator + 1 above them.
struct field_flags {
  static constexpr uint32_t first_skips_blanks = 1;
  static constexpr uint32_t last_skips_blanks = 2;
  static constexpr uint32_t separator_shift = 8;
};

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

// Reads one number of a position from the front of `text` and takes it off; nothing when there is none.
std::optional<uint64_t> take_count(std::string_view& text);

// Reads FIRST[,LAST]. Nothing when it is none; `problem` says why then.
std::optional<field_range> parse_field_range(std::string_view text, std::string& problem);

// The part of the text. Costs one pass over the fields before its end.
std::string_view cut(std::string_view text, const field_range& range);

}  // namespace flowrun::expr
