// A scalar of JSON as a value of a column, and the reason where it is none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/record/value_type.h"

namespace flowrun::operators {

// As JSON writes numbers: no sign +, no zeros in front, digits around the point.
bool is_json_number(std::string_view token);

// Stores the number at `to`. False where it isn't exactly a value of an integer type (1.0 and 1e3 are), or beyond the
// range; floats take the nearest value, and decimals what csv_value.h reads. `token` is a JSON number, `type` is a
// number or a decimal.
bool parse_json_number(record::value_type type, std::string_view token, std::byte* to);

// What JSON calls the value that begins at `token`: `the number 1.5`, `an object`, `the text "x"`.
std::string json_kind(std::string_view token);

// Why a column doesn't take a value: `expected u8 (0 to 255), got the number 300`.
std::string json_refusal(record::value_type type, std::string_view token);

}  // namespace flowrun::operators
