// A stateful program for scan: state variables, updated row by row in input order, and one output row per row (or per
// row for which a condition holds).
//
// For every row: (1) if the group changed, the state returns to its initial values; (2) the assignments run in their
// order, each seeing the ones before; (3) if the emit condition holds, a row is emitted. An expression sees the state
// as the assignments given before it to the builder leave it, so that columns given to emit() before set() see the
// state of the row before. What does not depend on the state is computed for up to 1,024 rows at a time by the vector
// kernels; only the rest runs row by row. Nothing is allocated per row for numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/run_limits.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

class state_program {
 public:
  struct code;
  struct memory;
  explicit state_program(std::shared_ptr<const code> program);
  state_program(state_program&&) noexcept;
  state_program& operator=(state_program&&) noexcept;
  ~state_program();

  const record::row_type& input() const;
  const record::row_type& output() const;
  // Appends the emitted rows of `in` to `out` (0 or more batches, none empty). Calls must come in input order; the
  // state lives on between them. `first_row_number`, `limits` and the result as in row_program::run: where it ends
  // early, the state is that of the rows taken. Not thread-safe.
  size_t run(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
             std::vector<record::batch>& out, const run_limits& limits = {});
  // Back to the initial state, as if no row had been seen.
  void reset();

 private:
  std::shared_ptr<const code> code_;
  std::unique_ptr<memory> memory_;
};

class state_program_builder {
 public:
  // `initial[k]` is a constant expression of the type state[k].type. Expressions given below are compiled
  // against a scope with row = &input, row_number = true and state = `state`.
  state_program_builder(record::row_type input, std::vector<variable> state, const std::vector<expression>& initial);
  state_program_builder(state_program_builder&&) noexcept;
  ~state_program_builder();

  // state[index] = value, after the assignments so far; of the type state[index].type. Follows reset_on_change.
  void set(size_t index, const expression& value);
  // The state starts anew whenever one of `keys` (over the row, without state) differs from the previous row's: as keys
  // do (record/key.h), so -0.0 differs from 0.0 and a NaN not from itself.
  void reset_on_change(const std::vector<expression>& keys);
  // Emits a row only where `condition` (bool, may use the new state) holds. Without it every row is emitted.
  void emit_when(const expression& condition);
  // The columns of the output. Names must be distinct.
  void emit(const std::vector<std::pair<std::string, expression>>& columns);
  // The program; the builder is spent afterwards.
  state_program build();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace flowrun::expr
