// Texts from data as messages show them: short, in quotes, and without what a terminal should not get.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flowrun {

// `text` in quotes, cut behind about `most_bytes` bytes, with escapes for bytes that a terminal should not get, and for
// characters of UTF-8 that nobody sees: "1\u00A0000".
std::string quoted_excerpt(std::string_view text, size_t most_bytes = 40);

// The text that quoted_excerpt() was given; nullopt: it was cut, or this doesn't come from there.
std::optional<std::string> unquoted(std::string_view quoted);

}  // namespace flowrun
