// A plugin's function as the expression language calls it.
#pragma once

#include <memory>
#include <string>

#include "engine/expr/outside_function.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `plugin`: its name; `who`: its name and version, for errors. Throws error(internal) for a table that can't be used.
std::unique_ptr<const expr::outside_function> make_function(const fr_function& table, const std::string& plugin,
                                                            const std::string& who);

}  // namespace flowrun::plugins
