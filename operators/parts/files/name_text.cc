#include "operators/parts/files/name_text.h"

#include <array>
#include <cstddef>

namespace flowrun::operators {

namespace {

constexpr std::string_view empty_name = "__HIVE_DEFAULT_PARTITION__";

constexpr std::array<bool, 128> make_kept() {
  std::array<bool, 128> kept{};
  for (size_t c = 0x20; c < 0x7F; ++c) kept[c] = true;
  for (const char c : std::string_view("\"#%'*/:=?\\{[]^")) kept[static_cast<size_t>(c)] = false;
  return kept;
}
constexpr std::array<bool, 128> kept_ascii = make_kept();

void append_escaped(unsigned char byte, std::string& out) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  out += '%';
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

// The length of the character that `text` begins with, which is not ASCII; 0: none, or a control character.
size_t character_length(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);
  if (first == 0xC2 && second < 0xA0) return 0;  // control characters beyond ASCII
  if (first == 0xE0 && second < 0xA0) return 0;  // too long for what it is
  if (first == 0xED && second > 0x9F) return 0;  // half of a surrogate pair
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;  // beyond the last character
  return length;
}

}  // namespace

void append_name_text(std::string_view text, std::string& out) {
  if (text.empty()) {
    out += empty_name;
    return;
  }
  size_t from = 0;
  if (text.front() == '.' || text == empty_name) append_escaped(static_cast<unsigned char>(text[from++]), out);
  for (size_t i = from; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80 ? (kept_ascii[byte] ? 1 : 0) : character_length(text.substr(i));
    if (length == 0)
      append_escaped(byte, out);
    else
      out.append(text.substr(i, length));
    i += length == 0 ? 1 : length;
  }
}

}  // namespace flowrun::operators
