// A chain of filters and maps as one stateless stage (decision D2).
//
// An operator that only computes row by row builds one of these instead of a stage of its own. The executor fuses
// neighbouring ones of a pipeline into a single row_program, so that a column is loaded once and nothing is stored
// between the nodes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/expr/row_program.h"

namespace flowrun::exec {

class program_stage final : public stateless_stage {
 public:
  // None of its expressions may use row_number, which a stage without state can't know.
  using step = expr::program_step;

  // Each step's expressions were compiled against the row type after the steps before it. `pool` outlives the stage.
  program_stage(const record::row_type& input, std::vector<step> steps, record::batch_pool& pool)
      : steps_(std::move(steps)), program_(compile(input, steps_)), pool_(&pool) {}

  const record::row_type& input() const { return program_.input(); }
  const record::row_type& output() const { return program_.output(); }
  const std::vector<step>& steps() const { return steps_; }

  // The stage that does what `first` of one node and then `second` of another do.
  static std::unique_ptr<program_stage> fuse(const program_stage& first, const std::string& first_node,
                                             const program_stage& second, const std::string& second_node) {
    std::vector<step> steps = first.steps_;
    for (step& s : steps)
      if (s.node.empty()) s.node = first_node;
    for (step s : second.steps_) {
      s.node = second_node;
      steps.push_back(std::move(s));
    }
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
    for (const step& s : steps) builder.add(s);
    return builder.build();
  }

 private:
  std::vector<step> steps_;
  expr::row_program program_;
  record::batch_pool* pool_;
};

}  // namespace flowrun::exec
