#include "runner/shown_text.h"

#include <algorithm>
#include <cctype>
#include <clocale>
#include <cwchar>

namespace flowrun::runner {

namespace {

// The C library knows which characters can be shown, and how wide they are, in a locale with UTF-8; the user may have
// none. For the thread and as long as this lives.
class utf8_locale {
 public:
  utf8_locale() : before_(::uselocale(of_program())) {}
  ~utf8_locale() { ::uselocale(before_); }
  utf8_locale(const utf8_locale&) = delete;
  utf8_locale& operator=(const utf8_locale&) = delete;

 private:
  static locale_t of_program() {
    static const locale_t made = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return made;  // null, which changes nothing, where the system has no such locale: then only ASCII can be shown
  }
  locale_t before_;
};

struct character {
  size_t num_bytes = 1;
  int columns = -1;  // -1: it can't be shown
};

character first_of(std::string_view text) {
  std::mbstate_t state{};
  wchar_t code = 0;
  const size_t read = std::mbrtowc(&code, text.data(), text.size(), &state);
  if (read == 0 || read > text.size()) return {};
  return {read, ::wcwidth(code)};
}

}  // namespace

std::string shown_text(std::string_view text, bool unicode) {
  const utf8_locale here;
  std::string out;
  while (!text.empty()) {
    const character c = first_of(text);
    if (c.columns >= 0 && (unicode || c.num_bytes == 1))
      out += text.substr(0, c.num_bytes);
    else
      out += '?';
    text.remove_prefix(c.num_bytes);
  }
  return out;
}

std::string without_controls(std::string_view lines) {
  std::string out;
  out.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const auto c = static_cast<unsigned char>(lines[i]);
    const auto next = static_cast<unsigned char>(i + 1 < lines.size() ? lines[i + 1] : 0);
    // U+0080 to U+009F in UTF-8: some terminals obey them as they do escape sequences.
    const bool is_long_control = c == 0xC2 && next >= 0x80 && next <= 0x9F;
    const bool stays = c == '\n' || c == '\t' || (c == '\r' && next == '\n');
    out += is_long_control || c == 0x7F || (c < 0x20 && !stays) ? '?' : lines[i];
    i += is_long_control;
  }
  return out;
}

std::string in_single_quotes(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

std::string shell_word(std::string_view word) {
  const auto is_plain = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || std::isalnum(byte) != 0 || std::string_view("_-./,:=@%+").find(c) != std::string_view::npos;
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_plain) ? std::string(word) : in_single_quotes(word);
}

size_t columns_of(std::string_view shown) {
  const utf8_locale here;
  size_t out = 0;
  while (!shown.empty()) {
    const character c = first_of(shown);
    out += c.columns < 0 ? 1 : static_cast<size_t>(c.columns);
    shown.remove_prefix(c.num_bytes);
  }
  return out;
}

std::string cut_to(std::string_view shown, size_t columns) {
  const utf8_locale here;
  size_t taken = 0, end = 0;
  while (end < shown.size()) {
    const character c = first_of(shown.substr(end));
    taken += c.columns < 0 ? 1 : static_cast<size_t>(c.columns);
    if (taken > columns) break;
    end += c.num_bytes;
  }
  return std::string(shown.substr(0, end));
}

}  // namespace flowrun::runner
