#include "engine/expr/event_program.h"

#include <algorithm>
#include <map>

#include "engine/base/error.h"
#include "engine/expr/kernels.h"
#include "engine/expr/value_graph.h"

namespace flowrun::expr {

// Expressions become sources and primitives. A lane of a chunk has no address yet: its source is empty, and where it
// stands goes to `uses` once nothing moves any more.
class event_program::compiler {
 public:
  compiler(event_program& program, const event_rules& given, event_state& state)
      : program_(program), given_(given), graph_(given.row) {
    for (const record::column& c : given.scope.columns()) {
      const auto column = given.row.index_of(c.name);
      columns_.push_back(column ? graph_.column(*column) : graph_.number(0));
    }
    for (size_t k = 0; k < state.cells.size(); ++k) {
      cells_.push_back(graph_.state(k, false));
      cell_addresses_.push_back(&state.cells[k]);
    }
  }

  value_id insert(const expression& value) { return graph_.insert(value.root(), given_.scope, columns_, cells_); }

  // The value, where it is the same for all events of this kind.
  std::optional<uint64_t> known(value_id id) const {
    const value& v = graph_[id];
    if (v.op == opcode::constant) return v.imm;
    if (!is_numeric_op(v.op) || may_fail(v.op)) return std::nullopt;
    uint64_t args[3] = {0, 0, 0};
    bool all = true;
    for (size_t i = 0; i < v.args.size(); ++i) {
      const std::optional<uint64_t> arg = known(v.args[i]);
      if (v.op == opcode::bit_and && arg == uint64_t{0}) return 0;  // one side that can't hold is enough
      all = all && arg;
      args[i] = arg.value_or(0);
    }
    if (!all) return std::nullopt;
    return evaluate(v.op, args[0], args[1], args[2], v.imm, v.imm2);
  }

  // Whether the value depends on the event, or on the state.
  bool needs_event(value_id id) const {
    const value& v = graph_[id];
    return v.op == opcode::column ||
           std::any_of(v.args.begin(), v.args.end(), [&](value_id arg) { return needs_event(arg); });
  }
  bool needs_state(value_id id) const { return graph_[id].stateful; }
  value_id without_not(value_id id) const { return graph_[id].op == opcode::not_b ? graph_[id].args[0] : id; }

  // Where a value lies; what must be computed for each event goes to `steps`. Values are computed once for all that is
  // compiled between two calls of forget().
  lane_source source(value_id id, std::vector<bound_primitive>& steps) {
    if (const auto lane = known(id)) return constant(*lane);
    const value& v = graph_[id];
    if (v.op == opcode::state) return {cell_addresses_[v.imm], 0};
    if (given_.in_chunks && !v.stateful) return chunk_lane(id);
    auto& places = v.op == opcode::column ? fields_ : computed_;
    if (const auto it = places.find(id); it != places.end()) return {it->second, 0};
    uint64_t* const slot = new_slot(0);
    places.emplace(id, slot);
    if (v.op == opcode::column) {
      program_.columns_used_.emplace_back(v.imm, slot);
      return {slot, 0};
    }
    FLOWRUN_CHECK(is_numeric_op(v.op));
    const std::vector<value_id> args = v.args;
    bound_primitive p{v.op, constant(0), constant(0), constant(0), v.imm, v.imm2, slot};
    if (!args.empty()) p.a = source(args[0], steps);
    if (args.size() > 1) p.b = source(args[1], steps);
    if (args.size() > 2) p.c = source(args[2], steps);
    steps.push_back(p);
    return {slot, 0};
  }
  void forget() { computed_.clear(); }

  // Once the rules stand where they stay.
  void finish(std::vector<compiled_rule>& rules) {
    program_.uses_.resize(scan_inputs_.size());
    for (compiled_rule& rule : rules) {
      if (rule.has_condition) visit(rule.condition);
      visit(rule.condition_steps);
      for (compiled_rule::assignment& a : rule.sets) {
        visit(a.value);
        visit(a.steps);
      }
      visit(rule.push_steps);
      visit(rule.emit_steps);
      for (lane_source& s : rule.pushed) visit(s);
      for (lane_source& s : rule.emitted) visit(s);
    }
    if (!given_.in_chunks) return;
    chunk_builder builder(given_.row, graph_);
    builder.scan(scan_inputs_, {});
    std::vector<register_ref> places;
    program_.code_ = builder.build({}, 0, places);
  }

 private:
  lane_source constant(uint64_t lane) {
    const auto [it, is_new] = constants_.emplace(lane, nullptr);
    if (is_new) it->second = new_slot(lane);
    return {it->second, 0};
  }
  // Without an address, the number of the lane in place of it.
  lane_source chunk_lane(value_id id) {
    const auto at = std::find(scan_inputs_.begin(), scan_inputs_.end(), id);
    const auto lane = static_cast<size_t>(at - scan_inputs_.begin());
    if (at == scan_inputs_.end()) scan_inputs_.push_back(id);
    return {nullptr, lane};
  }
  void visit(lane_source& s) {
    if (s.data == nullptr && !program_.uses_.empty()) program_.uses_[s.step].push_back(&s);
  }
  void visit(std::vector<bound_primitive>& steps) {
    for (bound_primitive& p : steps)
      for (lane_source* s : {&p.a, &p.b, &p.c}) visit(*s);
  }
  uint64_t* new_slot(uint64_t lane) {
    program_.slots_.push_back(std::make_unique<uint64_t>(lane));
    return program_.slots_.back().get();
  }

  event_program& program_;
  const event_rules& given_;
  value_graph graph_;
  std::vector<value_id> columns_, cells_;
  std::vector<uint64_t*> cell_addresses_;
  std::map<uint64_t, uint64_t*> constants_;
  std::map<value_id, uint64_t*> fields_, computed_;
  std::vector<value_id> scan_inputs_;
};

event_program::event_program(const event_rules& given, event_state& state, record::batch_pool& pool) {
  compiler c(*this, given, state);
  bool sets_constants = true, pushes_rows = given.in_chunks;
  for (size_t i = 0; i < given.rules.size(); ++i) {
    const event_rule& from = given.rules[i];
    compiled_rule rule;
    rule.number = from.number;
    rule.place = i;
    if (from.when) {
      const value_id condition = c.insert(*from.when);
      const std::optional<uint64_t> known = c.known(condition);
      if (known == uint64_t{0}) continue;
      rule.has_condition = !known;
      if (rule.has_condition) {
        const value_id positive = c.without_not(condition);
        rule.negated = positive != condition;
        rule.condition = c.source(positive, rule.condition_steps);
        rule.decided_by_state = !c.needs_event(condition);
      }
      c.forget();
    }
    for (const auto& [variable, value] : from.sets) {
      compiled_rule::assignment a;
      const value_id id = c.insert(value);
      sets_constants = sets_constants && c.known(id);
      a.value = c.source(id, a.steps);
      a.cell = &state.cells[variable];
      rule.sets.push_back(std::move(a));
      c.forget();
    }
    rule.pushes = from.pushes;
    for (const expression& value : from.pushed) {
      const value_id id = c.insert(value);
      pushes_rows = pushes_rows && !c.needs_state(id);
      rule.pushed.push_back(c.source(id, rule.push_steps));
    }
    c.forget();
    rule.emits = from.emits;
    for (const expression& value : from.emitted) rule.emitted.push_back(c.source(c.insert(value), rule.emit_steps));
    c.forget();
    rules_.push_back(std::move(rule));
  }
  classify(sets_constants, pushes_rows);
  c.finish(rules_);
  if (given.in_chunks) frame_ = std::make_unique<chunk_frame>(code_, pool);
}

event_program::~event_program() = default;

void event_program::classify(bool sets_constants, bool pushes_rows) {
  bool sets = false, emits = false, has_condition = false;
  for (const compiled_rule& rule : rules_) {
    sets = sets || !rule.sets.empty();
    pushes_ = pushes_ || rule.pushes;
    emits = emits || rule.emits;
    has_condition = has_condition || rule.has_condition;
  }
  only_rule_ = rules_.size() == 1 && !sets && rules_.front().decided_by_state;
  sends_rows_ = only_rule_ && pushes_ && !emits && pushes_rows;
  same_again_ = sets_constants && !pushes_ && !emits && !has_condition;
}

size_t event_program::load(const std::byte* rows, size_t row_bytes, size_t num_rows) {
  if (uses_.empty()) return num_rows;
  frame_->run(rows, row_bytes, nullptr, 0, num_rows, this);
  return frame_->num_taken();
}

size_t event_program::run(const std::vector<text_operand>& in, const std::vector<void*>&, text_arena&,
                          size_t num_rows) {
  for (size_t i = 0; i < uses_.size(); ++i)
    for (lane_source* s : uses_[i]) *s = {static_cast<const uint64_t*>(in[i].data), in[i].step};
  return num_rows;
}

}  // namespace flowrun::expr
