#include "engine/expr/version_key.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace flowrun::expr {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr unsigned char tilde_rank = 1;
constexpr unsigned char end_rank = 2;
constexpr unsigned long_number = 255;  // so many digits and more

constexpr std::array<unsigned char, 256> make_ranks() {
  std::array<unsigned char, 256> ranks = {};
  unsigned next = end_rank + 1;
  const auto letter = [](unsigned c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  for (unsigned c = 0; c < 256; ++c)
    if (letter(c)) ranks[c] = static_cast<unsigned char>(next++);
  for (unsigned c = 0; c < 256; ++c)
    if (!letter(c) && c != '~' && (c < '0' || c > '9')) ranks[c] = static_cast<unsigned char>(next++);
  ranks['~'] = tilde_rank;
  return ranks;
}
constexpr auto ranks = make_ranks();

// The parts of a text, with the last mark.
char* put_parts(std::string_view text, char* out) {
  size_t i = 0;
  do {
    for (; i < text.size() && !is_digit(text[i]); ++i)
      *out++ = static_cast<char>(ranks[static_cast<unsigned char>(text[i])]);
    *out++ = static_cast<char>(end_rank);
    while (i < text.size() && text[i] == '0') ++i;
    const size_t first = i;
    while (i < text.size() && is_digit(text[i])) ++i;
    const size_t num_digits = i - first;
    if (num_digits < long_number) {
      *out++ = static_cast<char>(num_digits);
    } else {
      *out++ = static_cast<char>(long_number);
      for (int shift = 56; shift >= 0; shift -= 8)
        *out++ = static_cast<char>(static_cast<uint64_t>(num_digits) >> shift);
    }
    if (num_digits > 0) std::memcpy(out, text.data() + first, num_digits);
    out += num_digits;
  } while (i < text.size());
  *out++ = static_cast<char>(end_rank);
  return out;
}

// Suffixes are dots with letters, digits and ~ behind them, the first of these no digit.
std::string_view without_suffixes(std::string_view text) {
  const size_t end = text.size();
  for (size_t i = 0;; ++i) {
    const size_t prefix = i;
    while (i + 1 < end && text[i] == '.' && (is_letter(text[i + 1]) || text[i + 1] == '~')) {
      i += 2;
      while (i < end && (is_letter(text[i]) || is_digit(text[i]) || text[i] == '~')) ++i;
    }
    if (i >= end) return text.substr(0, prefix);
  }
}

}  // namespace

size_t write_version_key(std::string_view text, char* out) {
  if (text.empty()) {
    *out = 0;
    return 1;
  }
  *out = static_cast<char>(text == "." ? 1 : text == ".." ? 2 : text[0] == '.' ? 3 : 4);
  char* const end = put_parts(text, put_parts(without_suffixes(text), out + 1));
  return static_cast<size_t>(end - out);
}

}  // namespace flowrun::expr
