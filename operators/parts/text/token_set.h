// Which bytes tokens consist of, and where the tokens of a text are. Needs nothing of the engine.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace flowrun::operators {

class token_set {
 public:
  static constexpr std::string_view default_characters = "A-Za-z0-9_";

  // "a-z0-9_'": bytes and ranges of them; \t, \n, \\ and \- stand for themselves. nullopt for a range that runs
  // backward, or a lone backslash at the end. With `separates` the set has all other bytes; else those beyond ASCII
  // always belong to it.
  static std::optional<token_set> parse(std::string_view text, bool separates) {
    std::array<bool, 256> given{};
    if (!read(text, given)) return std::nullopt;
    token_set out;
    for (size_t b = 0; b < given.size(); ++b) out.has_[b] = separates ? !given[b] : given[b] || b >= 0x80;
    return out;
  }

  struct place {
    size_t from, end;
  };
  // The first token at or behind `at`; from == end == size: there is none.
  place next(const unsigned char* text, size_t size, size_t at) const {
    while (at < size && !has_[text[at]]) ++at;
    size_t end = at;
    while (end < size && has_[text[end]]) ++end;
    return {at, end};
  }

 private:
  static bool read(std::string_view text, std::array<bool, 256>& out) {
    std::vector<int> bytes;  // -1: a range's sign
    for (size_t i = 0; i < text.size(); ++i) {
      const bool escaped = text[i] == '\\';
      if (escaped && ++i == text.size()) return false;
      if (!escaped && text[i] == '-' && i > 0 && i + 1 < text.size())
        bytes.push_back(-1);
      else
        bytes.push_back(static_cast<unsigned char>(escaped && text[i] == 'n'   ? '\n'
                                                   : escaped && text[i] == 't' ? '\t'
                                                                               : text[i]));
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      const bool range = i + 2 < bytes.size() && bytes[i + 1] < 0;
      const int first = bytes[i], last = range ? bytes[i + 2] : first;
      if (first < 0 || last < first) return false;
      for (int b = first; b <= last; ++b) out[static_cast<size_t>(b)] = true;
      if (range) i += 2;
    }
    return true;
  }

  std::array<bool, 256> has_{};
};

}  // namespace flowrun::operators
