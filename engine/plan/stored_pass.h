// Rows that an operator stores in a way of its own, in one pass: neither as runs that are merged nor in a vector. How
// much of that goes to scratch depends on the memory that the planner gives it, so its check leaves the rule in
// the node's facts (permute by whole blocks, partition).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/plan/row_estimate.h"

namespace flowrun::plan {

struct pass_memory {
  uint64_t given_bytes = 0;  // to the intake that stores the rows
  uint64_t kept_bytes = 0;   // of that, what may still be held when its phase has ended
  uint64_t block_bytes = 0;  // 0: chosen
};

struct stored_pass {
  uint64_t rows = 0;
  uint64_t num_bytes = 0;    // of the rows
  uint64_t loads = 0;        // memoryloads that are put away one after the other; 0: all stays in memory
  uint64_t block_bytes = 0;  // on scratch
  // To scratch, an upper bound; as much is read.
  uint64_t written_bytes = 0;
};

// Pure. `input`: as it is estimated now. nullopt: with that memory the node sorts instead, or nothing is known.
using stored_pass_rule = std::function<std::optional<stored_pass>(const row_estimate& input, const pass_memory&)>;

}  // namespace flowrun::plan
