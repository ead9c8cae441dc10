// A chain of filters and maps as one stateless stage (decision D2).
//
// An operator that only computes row by row builds one of these instead of a stage of its own. The executor fuses
// neighbouring ones of a pipeline into a single row_program, so that a column is loaded once and nothing is stored
// between the nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/expr/row_program.h"

namespace flowrun::exec {

class program_stage final : public stateless_stage {
 public:
  // One step: a filter (condition is set) or a map (columns). None of its expressions may use row_number, which a stage
  // without state can't know.
  struct step {
    std::optional<expr::expression> condition;
    std::vector<std::pair<std::string, expr::expression>> columns;
    bool is_filter() const { return condition.has_value(); }
    static step filter(expr::expression condition) { return {std::move(condition), {}}; }
    static step map(std::vector<std::pair<std::string, expr::expression>> columns) {
      return {std::nullopt, std::move(columns)};
    }
  };

  // Each step's expressions were compiled against the row type after the steps before it. `pool` outlives the stage.
  program_stage(const record::row_type& input, std::vector<step> steps, record::batch_pool& pool)
      : steps_(std::move(steps)), program_(compile(input, steps_)), pool_(&pool) {}

  const record::row_type& input() const { return program_.input(); }
  const record::row_type& output() const { return program_.output(); }
  const std::vector<step>& steps() const { return steps_; }

  // The stage that does what `first` and then `second` do.
  static std::unique_ptr<program_stage> fuse(const program_stage& first, const program_stage& second) {
    std::vector<step> steps = first.steps_;
    steps.insert(steps.end(), second.steps_.begin(), second.steps_.end());
    return std::make_unique<program_stage>(first.input(), std::move(steps), *first.pool_);
  }

  void apply(const record::batch& in, exec::output& out) const override {
    std::vector<record::batch> results;
    const size_t num_taken = program_.run(in, 0, *pool_, results, out.limits());
    out.emit(results);
    if (num_taken < in.num_rows) out.leave(num_taken);
  }

  static expr::row_program compile(const record::row_type& input, const std::vector<step>& steps) {
    expr::row_program_builder builder(input);
    for (const step& s : steps) {
      if (s.is_filter())
        builder.filter(*s.condition);
      else
        builder.map(s.columns);
    }
    return builder.build();
  }

 private:
  std::vector<step> steps_;
  expr::row_program program_;
  record::batch_pool* pool_;
};

}  // namespace flowrun::exec
