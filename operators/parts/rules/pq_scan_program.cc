#include "operators/parts/rules/pq_scan_program.h"

#include <bit>

#include "engine/expr/lane.h"
#include "engine/record/key.h"

namespace flowrun::operators {

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
  if (!type.has_sign()) return raw;
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

namespace {

// The rules of `s` for one kind of event, and where their values go.
expr::event_rules rules_of(const pq_scan_settings& s, rule_program::kind what, const std::string& input_name,
                           const record::row_type& row, std::vector<rule_targets>& targets) {
  const bool at_end = what == rule_program::kind::end;
  expr::event_rules out{at_end ? s.group : s.event, row, what == rule_program::kind::input, {}};
  const std::vector<pq_scan_settings::rule>& list = at_end ? s.at_end : s.on;
  const std::string& name = what == rule_program::kind::messages ? pq_scan_settings::messages : input_name;
  const std::vector<ordered_field> message = item_fields(s.message, s.order);
  for (size_t i = 0; i < list.size(); ++i) {
    const pq_scan_settings::rule& from = list[i];
    if (from.from && *from.from != name) continue;
    expr::event_rule& rule = out.rules.emplace_back();
    rule_targets& to = targets.emplace_back();
    rule.number = i + 1;
    rule.when = from.when;
    for (const auto& [variable, value] : from.set)
      for (size_t k = 0; k < s.state.size(); ++k)
        if (s.state[k].name == variable) rule.sets.emplace_back(k, value);
    rule.pushes = !from.push.empty();
    for (const auto& [column, value] : from.push) {
      const auto field = s.message.index_of(column);
      if (!field) continue;
      rule.pushed.push_back(value);
      to.pushed.push_back(message[*field]);
    }
    rule.emits = !from.emit.empty();
    if (!rule.emits) continue;
    to.port = static_cast<unsigned>(s.port_of(from));
    const record::row_type& type = s.outputs[to.port];
    for (size_t k = 0; k < from.emit.size(); ++k) {
      rule.emitted.push_back(from.emit[k].second);
      to.emitted.push_back({type[k].type, type[k].offset});
    }
  }
  return out;
}

}  // namespace

rule_program::rule_program(const pq_scan_settings& s, kind what, const std::string& input_name,
                           const record::row_type& row, expr::event_state& state, record::batch_pool& pool)
    : code_(rules_of(s, what, input_name, row, targets_), state, pool) {}

}  // namespace flowrun::operators
