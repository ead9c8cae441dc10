// The parameters that file.read_csv and file.write_csv share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/text/text_scan.h"

namespace flowrun::operators {

// `delimiter` and `quote`.
std::vector<plan::parameter_declaration> csv_parameters();

// The byte that `delimiter` says, which may be written as \\t; nothing where it is none that can part fields.
std::optional<char> delimiter_byte(const std::string& text);

// Reads them; reports what is wrong.
csv_format read_csv_format(plan::node_checker& node);

}  // namespace flowrun::operators
