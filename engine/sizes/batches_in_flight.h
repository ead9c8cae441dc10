// How many batches are under way at once: what the planner sets aside for them, and what the executor allows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/units.h"

namespace flowrun::sizes {

// Of one pipeline: each thread carries one, and two wait at the gate.
constexpr unsigned tickets_in_flight(unsigned threads) { return threads + 2; }

// A row is computed, stored and written: some copies of it are alive at once. So it may take this part of the memory,
// or a MiB, which even small budgets can bear beside what a process takes by itself.
constexpr uint64_t copies_of_a_row = 8;
constexpr uint64_t row_allowance = MiB;
constexpr uint64_t longest_row(uint64_t memory_bytes) {
  return std::max(memory_bytes / copies_of_a_row, row_allowance);
}

// In a bounded queue between two pipelines.
constexpr unsigned bounded_queue_batches = 4;

}  // namespace flowrun::sizes
