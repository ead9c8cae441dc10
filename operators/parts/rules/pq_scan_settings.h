// What the parameters of a pq_scan mean.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

struct pq_scan_settings {
  using rule = plan::node_checker::rule;

  // What an event may have: the columns of numbers of all inputs, and those of messages. Rules see these.
  record::row_type event;
  // What messages have: the order columns up to the last one that any push sets, then the other columns. All others are
  // 0, false or 0.0 in a message.
  record::row_type message;
  plan::order order;       // columns of `event`
  size_t num_group = 0;    // the leading columns of `order` that make a group
  record::row_type group;  // those columns
  std::vector<expr::variable> state;
  std::vector<expr::expression> initial;  // of each variable
  std::vector<rule> on, at_end;           // values have the types of what they go to
  std::vector<std::string> ports;
  std::vector<record::row_type> outputs;  // of each port

  size_t port_of(const rule& r) const;
  size_t num_pushes() const;
  void bind(const expr::scalar_values& values) { expr::bind_all(values, initial, on, at_end); }

  static constexpr const char* messages = "messages";
  static constexpr const char* default_port = "out";
  static constexpr uint32_t most_order_bytes = 16;
  static constexpr uint32_t most_message_bytes = 64;
};

std::vector<plan::parameter_declaration> pq_scan_parameters();
pq_scan_settings check_pq_scan(plan::node_checker& node);

}  // namespace flowrun::operators
