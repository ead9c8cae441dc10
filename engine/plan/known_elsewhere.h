// Operators and parameters that other languages have under another name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flowrun::plan {

// What to write here instead: "write filter" for where. Empty for names that are nothing elsewhere.
std::string known_elsewhere(std::string_view op);

// What a parameter is called here that others call `name`, of an operator with these `parameters`: "here it is called
// 'delimiter'" for sep.
std::string parameter_known_elsewhere(std::string_view name, const std::vector<std::string>& parameters);

// One meaning that a word has in other languages, for those who ask about the word alone.
struct word_elsewhere {
  std::string_view kind;  // what this language has none of: "operator", "function", "aggregate", or a mere "word"
  std::string advice;     // "write filter, …"
};
// All meanings: lag is an operator and a function elsewhere. Empty for names that are nothing elsewhere.
std::vector<word_elsewhere> meanings_elsewhere(std::string_view word);

}  // namespace flowrun::plan
