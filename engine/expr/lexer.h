// Tokens of the expression language, each with its place in the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/expression.h"

namespace flowrun::expr {

enum class token_kind { end, name, integer, real, text, symbol };

struct token {
  token_kind kind = token_kind::end;
  size_t offset = 0;
  size_t num_bytes = 0;
  std::string text;      // name, symbol ("<=", "[") or the value of a text literal
  uint64_t integer = 0;  // integer: its value; real: the bits of the double
};

// Texts beyond this are refused: no expression that a person writes is that long.
constexpr size_t max_text_bytes = 64 * 1024;

// The last token is `end`. Wrong characters become problems and are skipped.
std::vector<token> lex(std::string_view text, std::vector<problem>& problems);

}  // namespace flowrun::expr
