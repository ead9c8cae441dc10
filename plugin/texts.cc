#include "plugin/texts.h"

namespace flowrun::plugins {

namespace {

// How many bytes the character at the front takes; 0: it is none in UTF-8.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 && first < 0xF5   ? 4
                      : first >= 0xE0 && first < 0xF0 ? 3
                      : first >= 0xC2 && first < 0xE0 ? 2
                                                      : 0;
  if (size == 0 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than needed, halves of a pair, beyond the last character.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) || (first == 0xF0 && byte(1) < 0x90) ||
      (first == 0xF4 && byte(1) >= 0x90))
    return 0;
  return size;
}

}  // namespace

std::string as_shown(fr_text text) {
  const std::string all = as_string(text);
  std::string out;
  for (size_t at = 0; at < all.size();) {
    const size_t size = character_bytes(std::string_view(all).substr(at));
    const bool is_control =
        size == 1 && static_cast<unsigned char>(all[at]) < 0x20 && all[at] != '\n' && all[at] != '\t';
    if (size == 0 || is_control)
      out += '?';
    else
      out.append(all, at, size);
    at += std::max<size_t>(size, 1);
  }
  return out;
}

}  // namespace flowrun::plugins
