// How many batches are under way at once: what the planner sets aside for them, and what the executor allows.
#pragma once

#include <cstdint>

namespace flowrun::sizes {

// Of one pipeline: each thread carries one, and two wait at the gate.
constexpr unsigned tickets_in_flight(unsigned threads) { return threads + 2; }

// In a bounded queue between two pipelines.
constexpr unsigned bounded_queue_batches = 4;

}  // namespace flowrun::sizes
