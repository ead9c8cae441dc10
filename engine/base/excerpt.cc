#include "engine/base/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace flowrun {

namespace {

// What looks like a blank, or like nothing, and is neither: spreadsheets put a no-break space between the digits of a
// number, and a byte order mark in front of a name.
struct invisible_range {
  char32_t first, last;
};
constexpr std::array<invisible_range, 7> invisible = {{{0x80, 0xA0},
                                                       {0xAD, 0xAD},
                                                       {0x2000, 0x200F},
                                                       {0x2028, 0x202F},
                                                       {0x205F, 0x206F},
                                                       {0x3000, 0x3000},
                                                       {0xFEFF, 0xFEFF}}};

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the invisible character that `text` begins with, and its number; 0: it begins with something else.
size_t invisible_at(std::string_view text, char32_t& code) {
  const auto byte = [text](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  size_t num_bytes = 0;
  if (text.size() >= 2 && byte(0) == 0xC2 && continues(text[1])) {
    num_bytes = 2;
    code = byte(1);
  } else if (text.size() >= 3 && (byte(0) & 0xF0) == 0xE0 && continues(text[1]) && continues(text[2])) {
    num_bytes = 3;
    code = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  }
  const auto holds = [code](const invisible_range& range) { return range.first <= code && code <= range.last; };
  return num_bytes > 0 && std::any_of(invisible.begin(), invisible.end(), holds) ? num_bytes : 0;
}

}  // namespace

std::string quoted_excerpt(std::string_view text, size_t most_bytes) {
  const bool is_cut = text.size() > most_bytes;
  if (is_cut) {
    size_t end = most_bytes;
    while (end > 0 && end + 3 > most_bytes && continues(text[end])) --end;  // no character is cut
    text = text.substr(0, end);
  }
  std::string shown;
  while (!text.empty()) {
    const char c = text[0];
    char32_t code = 0;
    size_t num_bytes = 1;
    if (c == '"' || c == '\\') {
      shown += '\\';
      shown += c;
    } else if (c == '\n' || c == '\t') {
      shown += c == '\n' ? "\\n" : "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    } else if (const size_t found = invisible_at(text, code); found > 0) {
      shown += fmt::format("\\u{:04X}", static_cast<uint32_t>(code));
      num_bytes = found;
    } else {
      shown += c;
    }
    text.remove_prefix(num_bytes);
  }
  return fmt::format("\"{}\"{}", shown, is_cut ? "…" : "");
}

}  // namespace flowrun
