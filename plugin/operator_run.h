// The parts of a node of a plugin's operator, as the executor calls them.
#pragma once

#include <string>

#include "engine/exec/operator_definition.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `who` is for errors.
exec::assembly build_node(exec::build_context& c, const fr_operator& table, const std::string& who);

}  // namespace flowrun::plugins
