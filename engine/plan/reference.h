// The reference of the job language, generated from the operators' declarations and the table of functions: what
// specs/REFERENCE.md and `flowrun ops` show. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// The whole of specs/REFERENCE.md.
std::string reference_markdown(const vocabulary& catalog);

// `flowrun ops`: one line per operator.
std::string operator_list(const vocabulary& catalog);

// `flowrun ops NAME`.
std::string usage_text(const operator_declaration& d);

// The words that stand before a colon in a job: its keys, and the parameters of operators.
std::vector<std::string> key_names(const vocabulary& catalog);
// `flowrun explain NAME` of such a word: what it means, wherever it may stand. Empty: nothing is called so.
std::string key_text(const vocabulary& catalog, const std::string& name);

}  // namespace flowrun::plan
