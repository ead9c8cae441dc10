// What params.NAME is worth in expressions: the job's parameters as constants. Pure.
#pragma once

#include <vector>

#include "engine/expr/expression.h"
#include "specs/job.pb.h"

namespace flowrun::plan {

// A string, a path and one of an enum are texts, bytes a number; an int and a float count as literals do.
std::vector<expr::parameter> parameter_values(const specs::JobSpec& job);

}  // namespace flowrun::plan
