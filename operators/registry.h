// The words of the job language, as the other layers ask for them. Each is defined in a file of its own (word.h).
#pragma once

#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/plan/graph.h"

namespace flowrun::operators {

// All of them, by name.
const std::vector<const exec::operator_definition*>& built_in_operators();

// The catalog that a job is checked against.
plan::vocabulary built_in_vocabulary();

// Null when there is no such operator.
const exec::operator_definition* find_operator(const std::string& name);

}  // namespace flowrun::operators
