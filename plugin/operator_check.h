// The check of a plugin's operator: a node of a job as the plugin sees it.
#pragma once

#include <memory>
#include <string>

#include "engine/plan/node_checker.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// What a plugin's check left for its build; lives as long as the checked job.
struct plugin_settings {
  std::shared_ptr<void> of_plugin;  // may hold null
};

// Throws error for what the plugin does wrong. `who` is for errors.
plugin_settings check_node(plan::node_checker& node, const fr_operator& table, const std::string& who);

// In the types of the interface. The result refers to `type`.
std::vector<fr_column> columns_of(const record::row_type& type);

}  // namespace flowrun::plugins
