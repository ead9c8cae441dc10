// Texts as JSON has them: in quotes, with escapes, in UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flowrun::operators {

// How many bytes put_json_text writes.
size_t json_text_bytes(std::string_view text);
// Writes `text` in quotes, with escapes where there must be some, and returns the end.
char* put_json_text(std::string_view text, char* to);
std::string json_text(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace flowrun::operators
