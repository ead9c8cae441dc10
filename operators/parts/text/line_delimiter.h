// The byte that ends a line, as file.read_lines and file.write_lines take it from the job.
#pragma once

#include <optional>
#include <string>

#include "engine/plan/node_checker.h"

namespace flowrun::operators {

// The parameter `delimiter`, "\n" unless the job says otherwise.
plan::parameter_declaration line_delimiter_parameter();

// The byte that a text says; nothing where it is none.
std::optional<char> line_delimiter_byte(const std::string& text);

// Its value. Reports anything that is not one byte, \n or \0.
char line_delimiter(plan::node_checker& node);

}  // namespace flowrun::operators
