#include "runner/claimed_orders.h"

#include <fmt/format.h>

namespace flowrun::runner {

namespace {

bool has_node(const specs::JobSpec& job, const std::string& id) {
  for (const specs::Node& node : job.nodes())
    if (node.id() == id) return true;
  return false;
}

// Readers of the output read what the check passes on.
void add_check(specs::JobSpec& job, const plan::node& from, size_t port) {
  const plan::output_port& output = from.outputs[port];
  std::string id = "order_of_" + from.id;
  while (has_node(job, id)) id += "_";
  for (specs::Node& node : *job.mutable_nodes())
    for (specs::Input& input : *node.mutable_inputs()) {
      const bool is_first = input.from_port().empty() && port == 0;
      if (input.from_node() != from.id || (!is_first && input.from_port() != output.name)) continue;
      input.set_from_node(id);
      input.clear_from_port();
    }
  specs::Node& check = *job.add_nodes();
  check.set_id(id);
  check.set_op("check");
  *check.mutable_position() = from.spec->position();
  *check.mutable_op_position() = from.spec->op_position();
  check.set_input_form(specs::INPUT_SINGLE);
  specs::Input& input = *check.add_inputs();
  input.set_from_node(from.id);
  input.set_from_port(output.name);
  *input.mutable_position() = from.spec->position();
  specs::Entry& sorted = *check.mutable_with()->mutable_map()->add_entries();
  sorted.set_key("sorted");
  for (const plan::order_term& term : output.sorted_by) {
    specs::Value& key = *sorted.mutable_value()->mutable_list()->add_items();
    key.mutable_scalar()->set_text(plan::to_string({term}));
  }
}

}  // namespace

bool is_of_plugin(const plan::node& node, const std::string& plugin) {
  return node.declaration->name.starts_with(plugin + ".");
}

specs::JobSpec with_orders_checked(const specs::JobSpec& redirected, const plan::graph& checked,
                                   const std::string& plugin) {
  specs::JobSpec out = redirected;
  for (const plan::node& node : checked.nodes) {
    if (!is_of_plugin(node, plugin) || node.spec == nullptr) continue;
    for (size_t port = 0; port < node.outputs.size(); ++port)
      if (!node.outputs[port].sorted_by.empty() && !node.outputs[port].consumers.empty()) add_check(out, node, port);
  }
  return out;
}

std::vector<std::string> wrong_estimates(const plan::graph& checked, const exec::RunReport& report,
                                         const std::string& plugin) {
  std::vector<std::string> out;
  for (const plan::node& node : checked.nodes) {
    // Of several outputs the report has the sum.
    if (!is_of_plugin(node, plugin) || node.outputs.size() != 1) continue;
    const plan::row_estimate& said = node.outputs.front().estimate;
    for (const exec::RunReport::Node& found : report.nodes()) {
      if (found.id() != node.id || !said.known) continue;
      if (said.exact && found.rows() != said.rows)
        out.push_back(fmt::format("node '{}' ({}): {} rows, where its check says just {}", node.id,
                                  node.declaration->name, found.rows(), said.rows));
      else if (found.rows() > said.most_rows)
        out.push_back(fmt::format("node '{}' ({}): {} rows, where its check says at most {}", node.id,
                                  node.declaration->name, found.rows(), said.most_rows));
    }
  }
  return out;
}

}  // namespace flowrun::runner
