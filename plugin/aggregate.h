// A plugin's aggregate as the expression language calls it.
#pragma once

#include <memory>
#include <string>

#include "engine/expr/outside_aggregate.h"
#include "plugin/include/flowrun/plugin.h"

namespace flowrun::plugins {

// `plugin`: its name; `who`: its name and version, for errors. Throws error(internal) for a table that can't be used.
std::unique_ptr<const expr::outside_aggregate> make_aggregate(const fr_aggregate& table, const std::string& plugin,
                                                              const std::string& who);

}  // namespace flowrun::plugins
