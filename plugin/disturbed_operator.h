// Operators under disturbance, for trials of plugins: what an executor may do to them and seldom does.
//
// Before each step of a source or an ordered stage there is a chance that it is blocked, as if rows or room were
// missing, and so is each look at an input of a meeting; one that waits may be called again for nothing; all steps may
// begin late, so that threads overtake each other; and before the step of a number that is asked for, the job is
// cancelled or another part of it fails.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "engine/exec/operator_definition.h"

namespace flowrun::plugins {

struct disturbance {
  enum class ending { none, cancelled, failed };
  bool blocks = false;
  bool delays = false;
  ending ends = ending::none;
  uint64_t ends_before = 0;  // the step with this number, from 0
  // What happened. Any thread.
  std::atomic<uint64_t> num_steps{0};
  std::atomic<bool> stop{false};  // the job is to look at it
};

// What a job fails with where `ends` is failed.
constexpr const char* failure_of_trial = "the trial ends the job here";

// The same operator, disturbed. `op` and `how` outlive it and all that it builds.
exec::operator_definition disturbed(const exec::operator_definition& op, disturbance& how);

}  // namespace flowrun::plugins
