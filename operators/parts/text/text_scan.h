// Finding the ends of fields and records in text, eight bytes at a time.
//
// A record of CSV ends at '\n' outside quotes. A quote opens a quoted field only as the first byte of a field; inside
// it, two quotes stand for one. Everything that looks for record ends (the cutter, the parser, the skipping of a
// malformed record) follows this one rule, so that they always agree.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace flowrun::operators {

// How the text of a CSV file is made up. `quote` none: no field is quoted and quotes are ordinary bytes.
struct csv_format {
  char delimiter = ',';
  std::optional<char> quote = '"';
  bool operator==(const csv_format&) const = default;
};

// What a file in UTF-8 may begin with; no part of its text.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

static_assert(std::endian::native == std::endian::little, "row files and the scans below are little endian");

// The bytes of `word` that are equal to `byte`, as their high bits. The lowest set bit is exact; higher ones may be
// wrong.
inline uint64_t equal_bytes(uint64_t word, char byte) {
  constexpr uint64_t ones = 0x0101010101010101;
  constexpr uint64_t highs = 0x8080808080808080;
  const uint64_t x = word ^ (ones * static_cast<unsigned char>(byte));
  return (x - ones) & ~x & highs;
}

// The first `a` or `b` in [p, end), or end. Made for short distances; memchr is better at long ones.
inline const char* find_either(const char* p, const char* end, char a, char b) {
  while (end - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    const uint64_t found = equal_bytes(word, a) | equal_bytes(word, b);
    if (found != 0) return p + std::countr_zero(found) / 8;
    p += 8;
  }
  while (p != end && *p != a && *p != b) ++p;
  return p;
}

// True when one of the four stands in `text`.
inline bool contains_any(std::string_view text, char a, char b, char c, char d) {
  const char* p = text.data();
  const char* const end = p + text.size();
  while (end - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if ((equal_bytes(word, a) | equal_bytes(word, b) | equal_bytes(word, c) | equal_bytes(word, d)) != 0) return true;
    p += 8;
  }
  for (; p != end; ++p)
    if (*p == a || *p == b || *p == c || *p == d) return true;
  return false;
}

// How often `byte` stands in `text`.
inline uint64_t count_byte(std::string_view text, char byte) {
  constexpr uint64_t lows = 0x7F7F7F7F7F7F7F7F;
  const uint64_t pattern = 0x0101010101010101 * static_cast<unsigned char>(byte);
  const char* p = text.data();
  const char* const end = p + text.size();
  uint64_t count = 0;
  while (end - p >= 8) {
    uint64_t lanes = 0;  // eight counters of a byte each
    for (int i = 0; i < 255 && end - p >= 8; ++i, p += 8) {
      uint64_t word;
      std::memcpy(&word, p, sizeof word);
      word ^= pattern;
      lanes += ~(((word & lows) + lows) | word | lows) >> 7;
    }
    const uint64_t pairs = (lanes & 0x00FF00FF00FF00FF) + (lanes >> 8 & 0x00FF00FF00FF00FF);
    count += (pairs * 0x0001000100010001) >> 48;
  }
  for (; p != end; ++p) count += *p == byte;
  return count;
}

inline const char* find_byte(const char* p, const char* end, char byte) {
  const void* found = p == end ? nullptr : std::memchr(p, byte, static_cast<size_t>(end - p));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// The last one in [p, end), or null.
inline const char* find_last_byte(const char* p, const char* end, char byte) {
  return p == end ? nullptr : static_cast<const char*>(memrchr(p, byte, static_cast<size_t>(end - p)));
}

// The closing quote of the quoted field whose text starts at `p` (behind the opening quote), or end when it never
// closes. `escaped` becomes true when the field has quotes within.
inline const char* find_closing_quote(const char* p, const char* end, char quote, bool& escaped) {
  while (true) {
    p = find_byte(p, end, quote);
    if (p == end) return end;
    if (p + 1 == end || p[1] != quote) return p;
    escaped = true;
    p += 2;
  }
}

// Behind the '\n' that ends the record which starts at `p`; end when the record has none.
inline const char* record_end(const char* p, const char* end, const csv_format& format) {
  bool escaped = false;
  while (true) {
    if (p != end && format.quote && *p == *format.quote) {
      p = find_closing_quote(p + 1, end, *format.quote, escaped);
      if (p != end) ++p;
    }
    p = find_either(p, end, format.delimiter, '\n');
    if (p == end) return end;
    ++p;
    if (p[-1] == '\n') return p;
  }
}

}  // namespace flowrun::operators
