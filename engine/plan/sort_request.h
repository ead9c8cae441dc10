// What the checked graph knows about the input of a breaker, as a request for a sort plan. Pure.
#pragma once

#include "engine/plan/graph.h"
#include "engine/plan/sort_plan.h"

namespace flowrun::plan {

// Sizes, row width and limit; the memory is left to the caller.
sort_request request_of(const graph& g, const node& n);

}  // namespace flowrun::plan
