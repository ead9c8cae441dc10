// Counts what the program allocates with new, on all threads, and refuses it to a thread. A test that includes this
// names scarce_memory.cc among its sources: that file replaces new for the whole program.
#pragma once

#include <cstdint>

namespace flowrun {

uint64_t num_allocations();

// As long as it lives this thread gets memory `num_more` times, and then no more: new throws std::bad_alloc.
class memory_runs_out {
 public:
  explicit memory_runs_out(uint64_t num_more);
  ~memory_runs_out();
  memory_runs_out(const memory_runs_out&) = delete;
  memory_runs_out& operator=(const memory_runs_out&) = delete;
};

}  // namespace flowrun
