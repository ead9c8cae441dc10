// A plugin's operator as the planner checks it and the executor runs it.
#pragma once

#include <string>

#include "engine/exec/operator_definition.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `plugin`: its name; `who`: its name and version, for errors. Throws error(internal) for a table that can't be used.
exec::operator_definition make_operator(const fr_operator& table, const std::string& plugin, const std::string& who);

}  // namespace flowrun::plugins
