#include "engine/plan/other_memory.h"

#include <algorithm>

namespace flowrun::plan {

namespace {

struct outcome_of_plan {
  uint64_t all_passes = 0;
  uint64_t most_passes = 0;
  uint64_t scratch_bytes = 0;
};

std::optional<outcome_of_plan> planned(const graph& g, machine resources, uint64_t memory_bytes) {
  resources.memory_bytes = memory_bytes;
  const plan_result result = make_plan(g, resources);
  if (!result.faults.empty()) return std::nullopt;
  outcome_of_plan out;
  for (const sort_prediction& s : result.plan.sorts) {
    if (!s.known) return std::nullopt;
    out.all_passes += s.merge_passes;
    out.most_passes = std::max(out.most_passes, s.merge_passes);
  }
  out.scratch_bytes = result.plan.predicted_scratch_written + result.plan.predicted_scratch_read;
  return out;
}

}  // namespace

std::optional<other_memory> memory_for_fewer_passes(const graph& g, const machine& resources, uint64_t most_bytes) {
  const std::optional<outcome_of_plan> before = planned(g, resources, resources.memory_bytes);
  if (!before || before->all_passes == 0 || resources.memory_bytes == 0) return std::nullopt;
  for (uint64_t memory = 2 * resources.memory_bytes; memory <= most_bytes; memory *= 2) {
    const std::optional<outcome_of_plan> after = planned(g, resources, memory);
    if (!after || after->all_passes >= before->all_passes) continue;
    return other_memory{memory, before->most_passes, after->most_passes, before->scratch_bytes, after->scratch_bytes};
  }
  return std::nullopt;
}

}  // namespace flowrun::plan
