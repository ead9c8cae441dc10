// Into how many pieces a source is cut so that sorts of its rows stay in memory. Pure.
//
// A task whose rows don't fit writes them twice: to scratch, and once they are merged to the exchange file. Smaller
// pieces are written once, and whoever merges the runs of all tasks has more of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cluster/stages.h"
#include "engine/plan/graph.h"

namespace flowrun::cluster {

// Tasks of a stage with which each sorts its rows in `memory_bytes`, a multiple of `step`, which run at once. nullopt:
// nothing is sorted there, nobody knows how much, or a task couldn't merge so many runs.
std::optional<size_t> tasks_in_memory(const plan::graph& g, const stages& all, size_t stage, size_t step,
                                      uint64_t memory_bytes);

}  // namespace flowrun::cluster
