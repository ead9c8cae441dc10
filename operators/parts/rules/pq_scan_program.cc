#include "operators/parts/rules/pq_scan_program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "engine/base/error.h"
#include "engine/expr/kernels.h"
#include "engine/expr/lane.h"
#include "engine/expr/value_graph.h"

namespace flowrun::operators {

using expr::opcode;
using expr::value_id;

uint64_t ordered_field::encode_slowly(uint64_t lane) const {
  if (type.kind == record::type_kind::f32)
    lane = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(expr::lane::round_to_f32(lane))));
  const uint64_t bits = record::order_bits(type.kind, type.num_bytes, lane & mask());
  return descending ? bits ^ mask() : bits;
}

uint64_t ordered_field::decode_slowly(uint64_t bits) const {
  if (descending) bits ^= mask();
  const uint64_t raw = record::from_order_bits(type.kind, type.num_bytes, bits);
  if (type.kind == record::type_kind::f32)
    return std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw))));
  if (!type.is_signed()) return raw;
  const unsigned unused = 64 - num_bits();
  return static_cast<uint64_t>(static_cast<int64_t>(raw << unused) >> unused);
}

std::vector<ordered_field> item_fields(const record::row_type& type, const plan::order& order) {
  std::vector<ordered_field> out;
  uint32_t shift = 8 * type.row_bytes();
  for (size_t i = 0; i < type.num_columns(); ++i) {
    shift -= 8 * type[i].type.num_bytes;
    const bool descending = i < order.size() && order[i].column == type[i].name && order[i].descending;
    out.emplace_back(type[i].type, descending, shift);
  }
  return out;
}

// Expressions of one program become sources and primitives.
class rule_program::compiler {
 public:
  compiler(rule_program& program, const pq_scan_settings& s, kind what, const record::row_type& row, rule_state& state)
      : program_(program), what_(what), scope_(what == kind::end ? s.group : s.event), row_(row), graph_(row) {
    for (const record::column& c : scope_.columns()) {
      const auto column = row.index_of(c.name);
      columns_.push_back(column ? graph_.column(*column) : graph_.number(0));
    }
    for (size_t k = 0; k < s.state.size(); ++k) {
      cells_.push_back(graph_.state(k, false));
      cell_sources_.push_back(add_source({&state.cells[k], 0}));
    }
    nothing_ = constant(0);
  }

  uint32_t constant(uint64_t lane) {
    const auto [it, is_new] = constants_.emplace(lane, 0);
    if (is_new) it->second = add_source({new_slot(lane), 0});
    return it->second;
  }

  value_id insert(const expr::expression& value) { return graph_.insert(value.root(), scope_, columns_, cells_); }
  // The value, where it is the same for all events of this kind.
  std::optional<uint64_t> known(value_id id) const {
    const expr::value& v = graph_[id];
    if (v.op == opcode::constant) return v.imm;
    if (!expr::is_numeric_op(v.op)) return std::nullopt;
    uint64_t args[3] = {0, 0, 0};
    bool all = true;
    for (size_t i = 0; i < v.args.size(); ++i) {
      const std::optional<uint64_t> arg = known(v.args[i]);
      if (v.op == opcode::bit_and && arg == uint64_t{0}) return 0;  // one side that can't hold is enough
      all = all && arg;
      args[i] = arg.value_or(0);
    }
    if (!all) return std::nullopt;
    return expr::evaluate(v.op, args[0], args[1], args[2], v.imm, v.imm2);
  }

  // Whether the value depends on the event, or on the state.
  bool needs_event(value_id id) const {
    const expr::value& v = graph_[id];
    return v.op == opcode::column ||
           std::any_of(v.args.begin(), v.args.end(), [&](value_id arg) { return needs_event(arg); });
  }
  bool needs_state(value_id id) const { return graph_[id].stateful; }

  value_id without_not(value_id id) const { return graph_[id].op == opcode::not_b ? graph_[id].args[0] : id; }

  // The source of a value; what must be computed for each event goes to `steps`. Values are computed once for all that
  // is compiled between two calls of forget().
  uint32_t source(value_id id, std::vector<primitive>& steps) {
    if (const auto lane = known(id)) return constant(*lane);
    const expr::value& v = graph_[id];
    if (v.op == opcode::state) return cell_sources_[v.imm];
    const bool on_rows = what_ == kind::input && !v.stateful;
    auto& places = on_rows ? lanes_ : v.op == opcode::column ? fields_ : computed_;
    if (const auto it = places.find(id); it != places.end()) return it->second;
    uint32_t place = 0;
    if (on_rows) {
      place = add_source({});
      program_.lanes_.push_back(place);
      scan_inputs_.push_back(id);
    } else if (v.op == opcode::column) {
      uint64_t* slot = new_slot(0);
      place = add_source({slot, 0});
      program_.columns_used_.emplace_back(v.imm, slot);
    } else {
      FLOWRUN_CHECK(expr::is_numeric_op(v.op));
      const std::vector<value_id> args = v.args;
      primitive p{v.op, nothing_, nothing_, nothing_, v.imm, v.imm2, nullptr};
      if (!args.empty()) p.a = source(args[0], steps);
      if (args.size() > 1) p.b = source(args[1], steps);
      if (args.size() > 2) p.c = source(args[2], steps);
      p.out = new_slot(0);
      place = add_source({p.out, 0});
      steps.push_back(p);
    }
    places.emplace(id, place);
    return place;
  }
  void forget() { computed_.clear(); }

  expr::chunk_code chunk_code() {
    expr::chunk_builder builder(row_, graph_);
    builder.scan(scan_inputs_, {});
    std::vector<expr::register_ref> places;
    return builder.build({}, 0, places);
  }

 private:
  uint32_t add_source(lane_source s) {
    program_.sources_.push_back(s);
    return static_cast<uint32_t>(program_.sources_.size() - 1);
  }
  uint64_t* new_slot(uint64_t lane) {
    program_.slots_.push_back(std::make_unique<uint64_t>(lane));
    return program_.slots_.back().get();
  }

  rule_program& program_;
  const kind what_;
  const record::row_type& scope_;
  const record::row_type& row_;
  expr::value_graph graph_;
  std::vector<value_id> columns_, cells_;
  std::vector<uint32_t> cell_sources_;
  std::map<uint64_t, uint32_t> constants_;
  std::map<value_id, uint32_t> lanes_, fields_, computed_;
  std::vector<value_id> scan_inputs_;
  uint32_t nothing_ = 0;
};

rule_program::rule_program(const pq_scan_settings& s, kind what, const std::string& input_name,
                           const record::row_type& row, rule_state& state, record::batch_pool& pool) {
  compiler c(*this, s, what, row, state);
  const std::vector<pq_scan_settings::rule>& list = what == kind::end ? s.at_end : s.on;
  const std::string& name = what == kind::messages ? pq_scan_settings::messages : input_name;
  const std::vector<ordered_field> message = item_fields(s.message, s.order);
  bool sets_constants = true, pushes_rows = what == kind::input;
  for (size_t i = 0; i < list.size(); ++i) {
    const pq_scan_settings::rule& from = list[i];
    if (from.from && *from.from != name) continue;
    compiled_rule rule;
    rule.number = i + 1;
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
    for (const auto& [variable, value] : from.set) {
      assignment a{};
      const value_id id = c.insert(value);
      sets_constants = sets_constants && c.known(id);
      a.value = c.source(id, a.steps);
      for (size_t k = 0; k < s.state.size(); ++k)
        if (s.state[k].name == variable) a.cell = &state.cells[k];
      rule.sets.push_back(std::move(a));
      c.forget();
    }
    rule.pushes = !from.push.empty();
    for (const auto& [column, value] : from.push) {
      const auto to = s.message.index_of(column);
      if (!to) continue;
      const value_id id = c.insert(value);
      pushes_rows = pushes_rows && !c.needs_state(id);
      rule.pushed.push_back({c.source(id, rule.push_steps), message[*to]});
    }
    c.forget();
    rule.emits = !from.emit.empty();
    if (rule.emits) {
      rule.port = static_cast<unsigned>(s.port_of(from));
      const record::row_type& type = s.outputs[rule.port];
      for (size_t k = 0; k < from.emit.size(); ++k)
        rule.emitted.push_back(
            {c.source(c.insert(from.emit[k].second), rule.emit_steps), type[k].type, type[k].offset});
      c.forget();
    }
    rules_.push_back(std::move(rule));
  }
  classify(sets_constants, pushes_rows);
  if (what != kind::input) return;
  code_ = c.chunk_code();
  frame_ = std::make_unique<expr::chunk_frame>(code_, pool);
}

rule_program::~rule_program() = default;

void rule_program::classify(bool sets_constants, bool pushes_rows) {
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

void rule_program::load(const std::byte* rows, size_t row_bytes, size_t num_rows) {
  if (lanes_.empty()) return;
  frame_->run(rows, row_bytes, nullptr, 0, num_rows, this);
}

void rule_program::run(const std::vector<expr::text_operand>& in, const std::vector<void*>&, expr::text_arena&,
                       size_t) {
  for (size_t i = 0; i < lanes_.size(); ++i)
    sources_[lanes_[i]] = {static_cast<const uint64_t*>(in[i].data), in[i].step};
}

}  // namespace flowrun::operators
