// Dividing the memory budget (decision D7). Pure.
//
// In each phase, first the batches in flight and the bounded queues are set aside, and what earlier phases still hold.
// Every node then gets its minimum, and the rest is shared by weight until each has its maximum or nothing is left (as
// TPIE does, "water filling"). What nodes of different phases get is never alive at the same time, except
//   - what a breaker keeps between its halves (a sort's last run, so that it has an I/O of 2(N - M/2) and not 2N, as
//     SPsort, section 3, describes): at most half of its share, reserved in every phase until its source half is done,
//     and never more than half of what those phases have above their minimums, so that keeping can't starve them.
//     Nothing is kept where that would cost a merge pass;
//   - spilling queues between phases, in the same way, and stored inputs until their node has run: their minimums stay
//     reserved, and of the rest as much as leaves later phases half of what they have above their minimums. While a
//     graph calls itself they rest (control_memory.h): in such a phase next to nothing is reserved for each.
// The sum never exceeds the budget. A budget below the minimum of a phase is one fault that prints what each node wants
// and the smallest budget that would do.
#pragma once

#include <vector>

#include "engine/plan/pipelines.h"

namespace flowrun::plan {

// What one claimant of memory wants and gets.
struct memory_claim {
  memory_wish wish;
  uint64_t given = 0;
};

// Gives each claim its minimum and shares the rest of `available` by weight, none beyond its maximum. The minimums must
// fit. A claim without weight gets its minimum.
void share_memory(std::vector<memory_claim>& claims, uint64_t available);

// Of sorts that work, or wait with their runs, while the breaker `index` does: in the phase where they are most, once
// that is known of the phases.
uint64_t most_halves(const physical_plan& plan, const pipeline_layout& layout, int index);

// Sets batch_bytes, shares, the memory of queues and phases, and the predicted peak. `layout` says which pipelines feed
// and continue each node; `plan` has its pipelines, queues and phases.
void split_memory(const graph& g, const pipeline_layout& layout, physical_plan& plan, std::vector<fault>& faults);

// The smallest budget with which split_memory finds no fault.
uint64_t least_memory(const graph& g, const pipeline_layout& layout, physical_plan& plan);

}  // namespace flowrun::plan
