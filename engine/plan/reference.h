// The reference of the job language, generated from the operators' declarations and the table of functions: what
// specs/REFERENCE.md and `flowrun ops` show. Pure.
#pragma once

#include <string>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// The whole of specs/REFERENCE.md.
std::string reference_markdown(const vocabulary& catalog);

// `flowrun ops`: one line per operator.
std::string operator_list(const vocabulary& catalog);

// `flowrun ops NAME`.
std::string usage_text(const operator_declaration& d);

}  // namespace flowrun::plan
