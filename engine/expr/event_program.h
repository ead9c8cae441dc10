// Rules over events as code: "when CONDITION, set variables, push a message, emit a row".
//
// An event is a row of a stream, which come in chunks, or a single one whose columns the owner writes. What depends on
// the columns of a stream's rows alone is computed for up to 1,024 rows at a time by the vector kernels (chunk_code.h);
// `kind == 1` is then one load for each event. What depends on the state, and all of a single event, runs event by
// event (primitive.h). A condition that can't hold for these events drops its rule here. Programs also say what events
// have in common, so that many can be gone through at once. That may be a condition over the state alone, while no rule
// changes it, rows whose messages can be made a chunk at a time, or events that do the same as the one before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/expr/chunk_code.h"
#include "engine/expr/expression.h"
#include "engine/expr/primitive.h"
#include "engine/record/row_type.h"

namespace flowrun::expr {

struct event_rule {
  size_t number = 0;  // what the owner calls it
  std::optional<expression> when;
  std::vector<std::pair<size_t, expression>> sets;  // (variable, value)
  bool pushes = false, emits = false;
  std::vector<expression> pushed, emitted;
};

// Rules tried one after the other; each sees what those before it have set. Numbers and bools only.
struct event_rules {
  const record::row_type& scope;  // what the columns of the expressions are
  const record::row_type& row;    // what these events have of them, by name; the others are 0
  bool in_chunks = false;         // rows of a stream; or single events
  std::vector<event_rule> rules;
};

// The state, shared by the programs of a node.
struct event_state {
  std::vector<uint64_t> cells, initial;
};

struct compiled_rule {
  size_t number = 0;  // as given
  size_t place = 0;   // in event_rules
  bool has_condition = false;
  bool decided_by_state = true;  // whether it holds is the same for all events of its kind while the state is
  bool negated = false;          // holds where `condition` is 0
  std::vector<bound_primitive> condition_steps;
  lane_source condition;
  struct assignment {
    std::vector<bound_primitive> steps;
    lane_source value;
    uint64_t* cell = nullptr;
  };
  std::vector<assignment> sets;
  bool pushes = false, emits = false;
  std::vector<bound_primitive> push_steps, emit_steps;
  std::vector<lane_source> pushed, emitted;

  bool holds(size_t row) const {
    if (!has_condition) return true;
    run(condition_steps, row);
    return (condition.get(row) == 0) == negated;
  }
  void set(size_t row) const {
    for (const assignment& a : sets) {
      run(a.steps, row);
      *a.cell = a.value.get(row);
    }
  }
};

// Not thread-safe.
class event_program final : public scan_step {
 public:
  // `state` outlives the program.
  event_program(const event_rules& rules, event_state& state, record::batch_pool& pool);
  ~event_program() override;
  event_program(const event_program&) = delete;
  event_program& operator=(const event_program&) = delete;

  // Without those that can't hold.
  const std::vector<compiled_rule>& rules() const { return rules_; }
  // The only rule, where no event changes the state and the rule's condition depends on nothing else: it holds for all
  // events that come while the state is the same, or for none. Null where that isn't so.
  const compiled_rule* only_rule() const { return only_rule_ ? &rules_.front() : nullptr; }
  // There is such a rule, it pushes and does nothing else, and what it pushes depends on the rows alone.
  bool sends_rows() const { return sends_rows_; }
  // Once it has happened for one event, further events change nothing.
  bool same_again() const { return same_again_; }
  bool pushes() const { return pushes_; }
  size_t rows_per_chunk() const { return code_.rows_per_chunk; }
  // In chunks: computes what needs only the rows, at most rows_per_chunk(). Returns for how many of them, at least one.
  size_t load(const std::byte* rows, size_t row_bytes, size_t num_rows);
  // Single events: where the columns that are used go: (column of `row`, lane).
  const std::vector<std::pair<size_t, uint64_t*>>& columns_used() const { return columns_used_; }

 private:
  class compiler;
  void classify(bool sets_constants, bool pushes_rows);
  size_t run(const std::vector<text_operand>& in, const std::vector<void*>& out, text_arena& arena,
             size_t num_rows) override;

  std::vector<std::unique_ptr<uint64_t>> slots_;
  std::vector<compiled_rule> rules_;
  std::vector<std::vector<lane_source*>> uses_;  // of each lane of a chunk: what has its address
  bool only_rule_ = false, sends_rows_ = false, same_again_ = false, pushes_ = false;
  std::vector<std::pair<size_t, uint64_t*>> columns_used_;
  chunk_code code_;
  std::unique_ptr<chunk_frame> frame_;
};

}  // namespace flowrun::expr
