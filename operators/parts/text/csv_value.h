// One value as text, and back, for every value type but string.
//
// Reading is strict: the whole field must be the value. No blanks, nothing out of range; a number may have a sign, + or
// -. Times are as engine/base/calendar.h reads and writes them, decimals as engine/record/decimal_text.h. Floats are
// written as engine/record/float_text.h says, so writing and reading a file changes no value (a NaN stays a NaN, but
// not its payload).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/record/value_type.h"

namespace flowrun::operators {

// Stores the value that `field` spells at `to` (type.num_bytes bytes). False, and `to` undefined, when it spells none.
bool parse_value(record::value_type type, std::string_view field, std::byte* to);

// Why parse_value refuses the field: `expected u8 (0 to 255), got "300"`.
std::string refusal(record::value_type type, std::string_view field);

// What an integer type takes, or how far a float goes: "0 to 255", "up to 3.4028235e+38".
std::string value_range(record::value_type type);

// Most bytes that format_value writes for a type that is no text.
constexpr size_t max_value_chars = 32;

// Writes the value at `from` and returns the end. Not for string and bytes[N].
char* format_value(record::value_type type, const std::byte* from, char* to);

// An integer in two's complement of 1 to 8 bytes.
int64_t load_signed(const std::byte* from, uint32_t num_bytes);

}  // namespace flowrun::operators
