// The columns that a node with two inputs has from the second one, behind those of the first: what join, lookup and zip
// share. Names must differ; the parameter `rename` gives columns of the second input other names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// `input`: what the operator calls its second input.
plan::parameter_declaration rename_parameter(std::string_view input);

// Appends the columns of input 1, but for `keys`, to `columns`, the columns of input 0, under their names in the
// output. Returns (name in input 1, name in the output) of each. Faults where a name is taken, or where `rename` names
// no such column.
std::vector<std::pair<std::string, std::string>> add_columns(plan::node_checker& node,
                                                             const std::vector<std::string>& keys,
                                                             std::vector<record::column>& columns);

}  // namespace flowrun::operators
