// How many batches are under way at once: what the planner sets aside for them, and what the executor allows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/units.h"

namespace flowrun::sizes {

// Of one pipeline: each thread carries one, and two wait at the gate.
constexpr unsigned tickets_in_flight(unsigned threads) { return threads + 2; }

// While so much waits at the gate of a pipeline, its head rests. Usual tickets are far smaller; where rows are wide or
// grow, the pipelines of a phase wait together.
constexpr uint64_t parked_bytes(uint64_t pipelines) {
  return std::min(16 * MiB, 24 * MiB / std::max<uint64_t>(pipelines, 1));
}

// A row is computed, stored and written: some copies of it are alive at once. Where pipelines of a phase meet, each
// bounded queue has a row of its own: one in the queue, one that waits in front of it, one with the reader, and what
// becomes of them.
constexpr uint64_t copies_of_a_row(uint64_t bounded_queues) { return std::max<uint64_t>(8, 4 * bounded_queues); }
// So much even small budgets can bear beside what a process takes by itself.
constexpr uint64_t row_allowance(uint64_t bounded_queues) {
  return std::min(MiB, 32 * MiB / copies_of_a_row(bounded_queues));
}
// With its texts.
constexpr uint64_t longest_row(uint64_t memory_bytes, uint64_t bounded_queues) {
  return std::max(memory_bytes / copies_of_a_row(bounded_queues), row_allowance(bounded_queues));
}
// The memory in which a row may be so long.
constexpr uint64_t least_memory_for_row(uint64_t row_bytes, uint64_t bounded_queues) {
  return row_bytes <= row_allowance(bounded_queues) ? 0 : row_bytes * copies_of_a_row(bounded_queues);
}

// In a bounded queue between two pipelines.
constexpr unsigned bounded_queue_batches = 4;

}  // namespace flowrun::sizes
