// A plugin's operator as the planner checks it and the executor runs it.
#pragma once

#include <string>

#include "engine/exec/operator_definition.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `plugin`: its name; `who`: its name and version, for errors; `abi_minor`: of the interface that it was built for.
// Throws error(internal) for a table that can't be used.
exec::operator_definition make_operator(const fr_operator& table, const std::string& plugin, const std::string& who,
                                        uint32_t abi_minor);

}  // namespace flowrun::plugins
