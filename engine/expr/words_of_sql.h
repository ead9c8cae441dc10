// What SQL and pandas write in expressions, and this language doesn't: CASE WHEN, IS NULL, CAST(x AS type), x DESC.
//
// A text ends to make sense at the first such word, so the fault of the grammar is at that word or near it. The words
// around say what was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/expr/lexer.h"

namespace flowrun::expr {

// What to write instead, for a text whose grammar is broken at the token that begins at `offset`. Empty where no other
// language has such words.
std::string written_in_sql(std::string_view text, const std::vector<token>& tokens, size_t offset);

// null, NULL, None and the like.
bool means_null(std::string_view name);
// How to ask whether `column` is missing, or with `present` whether it is there.
std::string instead_of_null(std::string_view column, bool present);

// What to write instead of one of these words in small letters, for those who ask about the word alone: "collate",
// "null". Empty for others.
std::string word_known_elsewhere(std::string_view word);

// What to write for a function or an aggregate that is known under the same name in small letters; else empty.
std::string in_capitals(std::string_view word, const std::vector<std::string>& known);

// ASCII letters of `word` made small.
std::string in_small_letters(std::string_view word);

}  // namespace flowrun::expr
