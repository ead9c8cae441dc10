// A commit for which there is too little memory.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "engine/io/joint_commit.h"
#include "tests/support/scarce_memory.h"

namespace flowrun::io {

// The state of all outputs, which are gone then, when their commit gets memory `num_more` times and no more.
inline output_state commit_with(uint64_t num_more, std::vector<std::unique_ptr<joint_output>> all) {
  std::vector<output_result> results;
  const memory_runs_out now(num_more);
  try {
    commit_together(all, results);
  } catch (const std::bad_alloc&) {
  }
  all.clear();
  return results.empty() ? output_state::as_before : results.front().state;
}

}  // namespace flowrun::io
