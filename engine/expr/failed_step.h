// Which expression failed, and in which row. A program runs over chunks of rows and many columns at once, so that a
// function that fails knows neither: what failed is run again, in ever smaller pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/expr/outside_function.h"
#include "engine/expr/row_program.h"
#include "engine/expr/run_limits.h"
#include "engine/record/batch.h"
#include "engine/record/batch_pool.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

// The rows that a program ran over, as row_program::run and generate take them.
struct rows_of_run {
  const record::batch* in = nullptr;  // null: generated
  size_t num_rows = 0;
  uint64_t first_row_number = 0;
  run_limits limits;
};

// `cause` with the first row that fails, and the first expression that fails for it: "'price * 2' fails for the row
// {price: 12.00}: …". `cause` itself where nothing fails the second time, as a function of a plugin may. Costs as much
// as the rows' first run.
call_failed with_place(const call_failed& cause, const record::row_type& input, const std::vector<program_step>& steps,
                       const rows_of_run& rows, record::batch_pool& pool);

}  // namespace flowrun::expr
