// What a job will cost, before it runs: an estimate of its work, and the scratch that it needs. Pure.
//
// Sizes are upper bounds where a filter or a condition stands before a sort: figures are "at most". They are estimates
// where an input is text: figures are "about". They are unknown when an input can't be looked at. Scratch: a sort
// writes all but what it keeps, once per merge pass, and frees blocks as they are read. A phase's peak is the larger of
// what is stored when it starts and what is stored when it ends.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/plan/pipelines.h"

namespace flowrun::plan {

// Fills plan.sorts and the totals; memory is split already.
void predict(const graph& g, const pipeline_layout& layout, physical_plan& plan);

// What the files of a sink will hold for certain, without an index beside them. nullopt: that depends on the rows.
std::optional<uint64_t> certain_output_bytes(const graph& g, const node& sink);

}  // namespace flowrun::plan
