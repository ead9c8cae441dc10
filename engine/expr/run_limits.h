// How much one run of a program may make.
#pragma once

#include <cstdint>

namespace flowrun::expr {

struct run_limits {
  static constexpr uint64_t none = ~uint64_t{0};
  uint64_t num_bytes = none;  // of all results together, at least 1: a run that has made so much ends
  uint64_t row_bytes = none;  // of a row with its texts; beyond that record::row_too_large ends the job
};

}  // namespace flowrun::expr
