#include "operators/parts/text/json_text.h"

#include <simdjson.h>

#include <cstdint>
#include <cstring>

namespace flowrun::operators {

namespace {

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

// The letter of a short escape; 0: there is none.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\': return c;
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return '\0';
  }
}

}  // namespace

size_t json_text_bytes(std::string_view text) {
  size_t out = text.size() + 2;
  for (const char c : text)
    if (needs_escape(c)) out += short_escape(c) != '\0' ? 1 : 5;
  return out;
}

char* put_json_text(std::string_view text, char* to) {
  constexpr const char* hex = "0123456789abcdef";
  *to++ = '"';
  for (const char c : text) {
    if (!needs_escape(c)) {
      *to++ = c;
      continue;
    }
    *to++ = '\\';
    if (const char letter = short_escape(c); letter != '\0') {
      *to++ = letter;
      continue;
    }
    std::memcpy(to, "u00", 3);
    to[3] = hex[static_cast<unsigned char>(c) >> 4];
    to[4] = hex[static_cast<unsigned char>(c) & 0xF];
    to += 5;
  }
  *to++ = '"';
  return to;
}

std::string json_text(std::string_view text) {
  std::string out(json_text_bytes(text), '\0');
  put_json_text(text, out.data());
  return out;
}

bool is_utf8(std::string_view text) {
  uint64_t word = 0, any = 0;
  size_t i = 0;
  for (; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    any |= word;
  }
  for (; i < text.size(); ++i) any |= static_cast<unsigned char>(text[i]);
  return (any & 0x8080808080808080) == 0 || simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace flowrun::operators
