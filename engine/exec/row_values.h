// The values of a stream of one row, for the expressions of the nodes that name them (`scalars:` of a node).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/exec/operator.h"
#include "engine/expr/scalars.h"
#include "engine/record/row_type.h"

namespace flowrun::exec {

// What takes the row in. At the end it leaves the value of each column that can be a scalar in `values`, by the names
// of the columns; `values` outlives it. Any other number of rows ends the job: `rows` and `readers` are what the
// message calls the stream, and the nodes that name its values.
std::unique_ptr<ordered_stage> make_row_values(const record::row_type& type, expr::scalar_values& values,
                                               std::string rows, std::string readers);

// The values of a packed row that can be scalars, by the names of its columns.
expr::scalar_values values_of_row(const record::row_type& type, const std::byte* row);
// Throws error(bad_data) for any other number of rows than one.
void check_one_row(uint64_t num_rows, const std::string& rows, const std::string& readers);

// Gives the rows on as they are: in front of what can't be built before the row is known.
std::unique_ptr<stateless_stage> make_passing_stage();

}  // namespace flowrun::exec
