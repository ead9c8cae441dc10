// What other memory would change: the least that saves a merge pass, or keeps all rows off scratch. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

// A plan with more memory, beside one with what the job was given.
struct other_memory {
  uint64_t memory_bytes = 0;
  uint64_t passes_before = 0;  // the most merge passes of a sort
  uint64_t passes_after = 0;   // 0: all rows of sorts stay in memory
  // Bytes that go to scratch and come back.
  uint64_t scratch_before = 0;
  uint64_t scratch_after = 0;
};

// The least memory up to `most_bytes`, doubled from that of `resources`, with which the merge passes of the sorts, added
// up over all of them, become fewer. It is a round figure, no exact bound. Empty: no such memory, or sizes are unknown.
// Graphs inside of control nodes are not looked at, since what they will sort isn't known before.
std::optional<other_memory> memory_for_fewer_passes(const graph& g, const machine& resources, uint64_t most_bytes);

}  // namespace flowrun::plan
