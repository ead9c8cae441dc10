#include "plugin/operator_check.h"

#include <fmt/format.h>

#include "plugin/crash_line.h"
#include "plugin/node_view.h"
#include "plugin/problem.h"

namespace flowrun::plugins {

plugin_settings check_node(plan::node_checker& node, const fr_operator& table, const std::string& plugin_operator,
                           bool knows_decimals) {
  const std::string who = fmt::format("node '{}': {}", node.node().id, plugin_operator);
  fr_problem problem;
  plugin_settings out;
  node_view view(node, problem, who, out, knows_decimals);
  const fr_node handed = view.table();
  void* made = nullptr;
  const inside plugin(who);
  const int done = table.check(table.context, &handed, &made, &problem);
  out.of_plugin = std::shared_ptr<void>(made, [destroy = table.destroy_settings](void* settings) {
    if (settings != nullptr && destroy != nullptr) destroy(settings);
  });
  if (problem.raised || (done != FR_OK && node.ok())) raise(problem, who);
  if (!node.ok()) return out;
  const auto refuse = [&](const std::string& what) {
    throw error(error_kind::internal, fmt::format("{}: its check {}", who, what), "tell the author of the plugin");
  };
  for (const plan::output_port& port : node.node().outputs)
    if (port.type.num_columns() == 0) refuse(fmt::format("leaves the output '{}' without columns", port.name));
  if (table.role == FR_BREAKER && !out.sort) refuse("doesn't say how its rows are sorted");
  return out;
}

}  // namespace flowrun::plugins
