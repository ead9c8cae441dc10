// Tokens of JSON in a text with padding: they are looked at by words, as far as seven bytes beyond their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "operators/parts/text/short_number.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// Between tokens; a line end is none within a line.
constexpr std::string_view json_blanks = " \t\r";

// Without the blanks behind it.
inline std::string_view trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

inline uint64_t load_word(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// What is short is looked at, and copied, by words, as far as seven bytes beyond its end. So a backslash there counts,
// too: false means that there is none.
constexpr size_t most_by_words = 64;

inline bool may_have_escape(std::string_view text) {
  if (text.size() > most_by_words) return std::memchr(text.data(), '\\', text.size()) != nullptr;
  uint64_t found = 0;
  for (size_t i = 0; i < text.size(); i += sizeof found) found |= equal_bytes(load_word(text.data() + i), '\\');
  return found != 0;
}

// False where there may be an escape in it.
inline bool copy_plain(std::string_view text, std::byte* to) {
  if (text.size() > most_by_words) {
    if (may_have_escape(text)) return false;
    std::memcpy(to, text.data(), text.size());
    return true;
  }
  uint64_t found = 0;
  for (size_t i = 0; i < text.size(); i += sizeof found) {
    const uint64_t word = load_word(text.data() + i);
    found |= equal_bytes(word, '\\');
    std::memcpy(to + i, &word, sizeof word);
  }
  return found == 0;
}

// A number of up to 16 digits as it stands; false for any other token, also for none (behind a colon there may be
// nothing).
inline bool read_short_unsigned(std::string_view token, uint32_t num_bytes, std::byte* to) {
  const size_t size = token.size();
  if (size == 0 || size > 16 || (token[0] == '0' && size > 1)) return false;
  uint64_t value = 0, low = 0;
  if (size <= 8)
    return number_of_digits(load_word(token.data()), static_cast<uint32_t>(size), value) &&
           store_unsigned(value, num_bytes, to);
  return number_of_digits(load_word(token.data()), static_cast<uint32_t>(size) - 8, value) &&
         number_of_digits(load_word(token.data() + size - 8), 8, low) &&
         store_unsigned(value * 100'000'000 + low, num_bytes, to);
}

}  // namespace flowrun::operators
