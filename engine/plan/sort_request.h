// What the checked graph knows about the input of a breaker, as a request for a sort plan. Pure.
#pragma once

#include "engine/plan/physical_plan.h"
#include "engine/sizes/sort_plan.h"

namespace flowrun::plan {

// Sizes, row width, limit and the machine; the memory is left to the caller.
sizes::sort_request request_of(const graph& g, const node& n, const machine& resources);

}  // namespace flowrun::plan
