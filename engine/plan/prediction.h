// What a job will cost, before it runs (users' wishes 12 and 7: an estimate, and the scratch it needs). Pure.
//
// Sizes are upper bounds where a filter or a condition stands before a sort, and figures are "at most"; they are
// estimates where an input is text, and figures are "about"; they are unknown when an input can't be looked at.
// Scratch: a sort writes all but what it keeps, once per merge pass, and frees blocks as they are read; a phase's peak
// is what is stored when it starts or when it ends, whichever is more.
#pragma once

#include "engine/plan/pipelines.h"

namespace flowrun::plan {

// Fills plan.sorts and the totals; memory is split already.
void predict(const graph& g, const pipeline_layout& layout, physical_plan& plan);

}  // namespace flowrun::plan
