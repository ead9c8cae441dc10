// The byte that ends a line, as file.read_lines and file.write_lines take it from the job.
#pragma once

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// The parameter `delimiter`, "\n" unless the job says otherwise.
plan::parameter_declaration line_delimiter_parameter();

// Its value. Reports anything that is not one byte, \n or \0.
char line_delimiter(plan::node_checker& node);

}  // namespace flowrun::operators
