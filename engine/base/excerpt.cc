#include "engine/base/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
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

// As invisible_at() reads them; those of \x are one byte.
void append_utf8(uint32_t code, std::string& to) {
  if (code < 0x80) {
    to += static_cast<char>(code);
  } else if (code < 0x800) {
    to += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
  } else {
    to += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3F)),
           static_cast<char>(0x80 | (code & 0x3F))};
  }
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

std::optional<std::string> unquoted(std::string_view quoted) {
  if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') return std::nullopt;
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string out;
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '"') return std::nullopt;
    if (quoted[i] != '\\') {
      out += quoted[i];
      continue;
    }
    const char kind = ++i < quoted.size() ? quoted[i] : '\0';
    const size_t num_digits = kind == 'x' ? 2 : kind == 'u' ? 4 : 0;
    if (num_digits > 0) {
      uint32_t code = 0;
      const char* const first = quoted.data() + i + 1;
      const size_t left = quoted.size() - i - 1;
      if (left < num_digits || std::from_chars(first, first + num_digits, code, 16).ptr != first + num_digits)
        return std::nullopt;
      i += num_digits;
      append_utf8(code, out);
    } else if (kind == 'n' || kind == 't') {
      out += kind == 'n' ? '\n' : '\t';
    } else if (kind == '"' || kind == '\\') {
      out += kind;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace flowrun
