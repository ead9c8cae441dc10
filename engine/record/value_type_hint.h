// What is meant by a word that is no value type.
#pragma once

#include <string>
#include <string_view>

namespace flowrun::record {

// "did you mean 'i64'?" for words that are like a type or that other languages have (int, uint32, text); else empty.
std::string value_type_hint(std::string_view word);

}  // namespace flowrun::record
