// A chain of neighbouring filters and maps as one vector program over batches (decision D2).
//
// Rows are taken in chunks of 1,024, fewer where there are very many columns or long texts (chunk_code.h). A chunk's
// columns are loaded into registers of 8-byte lanes (narrow types are widened), every instruction runs over the whole
// chunk, and the results are stored into packed output rows. A filter compacts: what comes after it touches the
// surviving rows only. Common subexpressions are computed once, also across the steps of the chain. Registers and
// constants are kept from call to call, one set for each thread that was inside at once, so that small batches are
// cheap as well. Cost: one indirect call per instruction and chunk; 0.1-1 ns per row and primitive
// (tests/bench/expression_bench.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/expr/expression.h"
#include "engine/expr/run_limits.h"
#include "engine/record/batch.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

// One step of a program: a filter (condition is set) or a map (columns).
struct program_step {
  std::optional<expression> condition = {};
  std::vector<std::pair<std::string, expression>> columns = {};
  std::string node = {};  // whose step it is, in a program of several nodes; messages name it

  bool is_filter() const { return condition.has_value(); }
  static program_step filter(expression condition) { return {.condition = std::move(condition)}; }
  static program_step map(std::vector<std::pair<std::string, expression>> columns) {
    return {.columns = std::move(columns)};
  }
};

class row_program {
 public:
  struct code;
  explicit row_program(std::shared_ptr<const code> program);

  const record::row_type& input() const;
  const record::row_type& output() const;
  // No filter drops rows: one row out for each row in.
  bool keeps_all_rows() const;

  // Appends 0 or more batches with the resulting rows to `out`, in order; none of them is empty. `first_row_number` is
  // the row_number of the first row of `in`; behind a filter of this program, row_number still counts the rows of `in`.
  // Columns of strings that are only passed on, cut or trimmed share the heap of `in`; computed strings go into a new
  // heap. A filter that drops nothing hands on `in` itself. Thread-safe.
  // Ends early once the results take about `most_bytes`; returns how many rows of `in` they are of, at least one.
  // Throws error(bad_data) when one row's strings exceed 4 GiB, and call_failed, which says for which row, when a
  // function fails.
  size_t run(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
             std::vector<record::batch>& out, const run_limits& limits = {}) const;
  // As run, without an input batch: rows first_row_number … first_row_number + count - 1. The input type must have no
  // columns.
  size_t generate(uint64_t first_row_number, size_t count, record::batch_pool& pool, std::vector<record::batch>& out,
                  const run_limits& limits = {}) const;

 private:
  size_t run_over(const record::batch& in, uint64_t first_row_number, record::batch_pool& pool,
                  std::vector<record::batch>& out, const run_limits& limits) const;
  size_t run_generating(uint64_t first_row_number, size_t count, record::batch_pool& pool,
                        std::vector<record::batch>& out, const run_limits& limits) const;

  std::shared_ptr<const code> code_;
};

// What a program says of a function that fails: for which row and in which expression (failed_step.h), or only why.
enum class failures { with_their_place, as_they_are };

class row_program_builder {
 public:
  explicit row_program_builder(record::row_type input, failures told = failures::with_their_place);
  row_program_builder(row_program_builder&&) noexcept;
  ~row_program_builder();

  // The row type after the steps so far: the scope for the next expression.
  const record::row_type& current() const;
  // Keeps the rows for which `condition` (bool) holds.
  void filter(const expression& condition);
  // Replaces the row by new columns. Names must be distinct.
  void map(const std::vector<std::pair<std::string, expression>>& columns);
  void add(const program_step& step);
  // The program; the builder is spent afterwards.
  row_program build();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace flowrun::expr
