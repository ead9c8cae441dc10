// The check of a plugin's operator: a node of a job as the plugin sees it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "engine/plan/node_checker.h"
#include "engine/sort/settings.h"
#include "operators/parts/rules/program.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// What a check left for build. Lives as long as the checked job.
struct plugin_settings {
  std::shared_ptr<void> of_plugin;  // may hold null
  // The rows that steps get: the input's columns and what is computed behind them. Empty: the input's as they are.
  operators::named_expressions rows;
  std::optional<sort::sort_settings> sort;  // of a breaker
  std::array<plan::memory_wish, 3> memory;  // by FR_WHOLE …
  double max_ratio = 1;                     // of rows that are rejected
  void bind(const expr::scalar_values& values) { expr::bind(rows, values); }
};

// Throws error for what the plugin does wrong. `plugin_operator` names both, for errors.
// `knows_decimals`: as of node_view.
plugin_settings check_node(plan::node_checker& node, const fr_operator& table, const std::string& plugin_operator,
                           bool knows_decimals);

}  // namespace flowrun::plugins
