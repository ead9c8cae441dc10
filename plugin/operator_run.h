// The parts of a node of a plugin's operator, as the executor calls them.
#pragma once

#include <memory>
#include <string>

#include "engine/exec/operator_definition.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `settings`: what the operator's check left. `who` is for errors.
exec::assembly build_node(exec::build_context& c, const fr_operator& table, std::shared_ptr<void> settings,
                          const std::string& who);

}  // namespace flowrun::plugins
