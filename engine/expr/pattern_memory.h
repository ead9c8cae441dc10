// The memory of regular expressions. The states of a pattern's automaton are made while texts are read, so how many
// there will be can't be known before; what they may take is bounded.
//
// All patterns of a job share an allowance that doesn't count in the budget. Many patterns take more together, and what
// is beyond the allowance is set aside in the plan (plan::machine::pattern_bytes). An automaton whose memory is full
// starts over: texts are matched as before, only slower.
#pragma once

#include <cstdint>

#include "engine/base/units.h"

namespace flowrun::expr {

constexpr uint64_t most_pattern_bytes = 8 * MiB;     // of one pattern: what RE2 takes by itself
constexpr uint64_t least_pattern_bytes = 256 * KiB;  // of one pattern; more where its program is long
constexpr uint64_t free_pattern_bytes = 16 * MiB;    // of all together, outside the budget

// How many bytes one of `num_patterns` patterns may take, of which this one wants at least `least`. Pure.
uint64_t bytes_of_pattern(uint64_t least, uint64_t num_patterns);

// How many bytes the patterns that are alive in this process (those of the job that was checked last) may take of the
// budget.
uint64_t pattern_bytes_in_budget();

}  // namespace flowrun::expr
