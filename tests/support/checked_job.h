// The text of a test's job, up to its graph: read and checked as the command does it.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/operator_definition.h"
#include "engine/plan/graph.h"

namespace flowrun::exec {

// Beside those of the language.
using more_operators = std::vector<const operator_definition*>;

// With the faults of the reader, or else those of the check. The job may read and replace real files.
plan::check_result check_text(const std::string& text, const more_operators& more = {});

// "line:column: message (expected: …) (help: …)"
std::string fault_text(const fault& f);

// Of a job without faults. Those that it has fail the test; then an error is thrown.
plan::graph graph_of(const std::string& text, const more_operators& more = {});

}  // namespace flowrun::exec
