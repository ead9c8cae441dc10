// Row-by-row computation as a stage: the engine behind map, filter, and the projections in front of group, reduce and
// scan.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/exec/program_stage.h"

namespace flowrun::operators {

using program_step = exec::program_stage::step;
using named_expressions = std::vector<std::pair<std::string, expr::expression>>;

// A program_stage, which runs in parallel and fuses with its neighbours; or, where an expression uses row_number, an
// ordered stage that counts the rows.
exec::stage make_program(const record::row_type& input, std::vector<program_step> steps, record::batch_pool& pool);

// Every column of `type` under its own name.
named_expressions identity(const record::row_type& type);

// A literal: "0", "false".
expr::expression constant(const std::string& text);

// The row type of a map with these columns.
record::row_type type_of(const named_expressions& columns);

// (old name, new name) of the columns that a map carries over as they are: what plan::carried_over wants.
std::vector<std::pair<std::string, std::string>> renamed(const named_expressions& columns,
                                                         const record::row_type& input);

}  // namespace flowrun::operators
