#include "specs/control_words.h"

#include <algorithm>
#include <array>

namespace flowrun::specs {

const control_word* find_control_word(std::string_view op) {
  static const std::array<control_word, 2> words = {{
      {"loop", {"body"}, "carry"},
      {"if", {"then", "else"}, ""},
  }};
  const auto* const found = std::find_if(words.begin(), words.end(), [&](const control_word& w) { return w.op == op; });
  return found == words.end() ? nullptr : found;
}

}  // namespace flowrun::specs
