// How a control node divides its memory: among the graph that it runs and the vectors that hold what goes in and out of
// it (what a loop carries, twice, since one is read while the next is written; what it collects). Pure.
//
// The vectors share a sixteenth, or their minimums; the graph has the rest. That is enough to keep small rows off the
// disks, and recursion multiplies the graph's part: ten levels deep half of the memory is left.
#pragma once

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

struct control_memory {
  uint64_t body_bytes = 0;
  uint64_t vector_bytes = 0;  // of each
};

control_memory divide_control_memory(const node& n, const machine& resources, uint64_t num_bytes);

// The least with which a control node, and all that is inside of it, can work.
uint64_t control_minimum(const node& n, const machine& resources);

}  // namespace flowrun::plan
