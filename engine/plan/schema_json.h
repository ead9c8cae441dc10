// A JSON Schema (draft-07) of the job language, for editors: completion, types and help while typing. Generated from
// the operators' declarations, so that it never lags behind. Pure.
#pragma once

#include <string>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// Indented JSON with a final newline.
std::string schema_json(const vocabulary& catalog);

}  // namespace flowrun::plan
