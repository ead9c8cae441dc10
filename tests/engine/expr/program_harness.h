// Builds batches from plain values and runs expressions over them, for the tests of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/row_program.h"
#include "engine/record/batch.h"

namespace flowrun::expr::testing {

// A value outside of any packed row: bool and unsigned, signed, real, text.
using cell = std::variant<uint64_t, int64_t, double, std::string>;
using row = std::vector<cell>;

record::row_type type_of(const std::vector<std::pair<std::string, std::string>>& columns);

// Packs rows; the batch's rows lie at an odd address, as rows in a block may.
record::batch pack(const record::row_type& type, const std::vector<row>& rows);
// The rows of batches, one after the other.
std::vector<row> unpack(const record::row_type& type, const std::vector<record::batch>& batches);

// Compiles or fails the test.
expression compiled_ok(const std::string& text, const scope& names);
// The value of `text` for every row of the batch.
std::vector<cell> evaluate_rows(const std::string& text, const record::row_type& type, const record::batch& in);
// The value of a text without columns.
cell evaluate_constant(const std::string& text);

// The type of `text` over rows of that type.
std::string type_name_over(const std::string& text, const record::row_type& type);
// The first problem that `text` has over rows of that type; the test fails where it has none.
problem refusal_over(const std::string& text, const record::row_type& type);

std::string show(const cell& value);
// Equal, where NaN equals NaN and 0.0 differs from -0.0.
bool same(const cell& a, const cell& b);

}  // namespace flowrun::expr::testing
