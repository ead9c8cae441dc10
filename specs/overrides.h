// --set nodes.sorted.with.limit=5: values of the command line in the place of those of the file.
//
// The path names keys, and items of lists by number from 0. What it leads to is replaced, or added when only the last
// key is new. A value that begins with [ { " or ' is YAML; everything else is text as it stands. Later options win.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "specs/fault_sink.h"
#include "specs/value.h"

namespace flowrun::specs {

using override_list = std::vector<std::pair<std::string, std::string>>;  // path, value

void apply_overrides(const override_list& overrides, Value& root, fault_sink& faults);

}  // namespace flowrun::specs
