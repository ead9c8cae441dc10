#include "cluster/tasks_in_memory.h"

#include <algorithm>

#include "engine/base/buffer.h"
#include "engine/base/units.h"

namespace flowrun::cluster {

namespace {

// Of a run that a task merges: sixteen chunks of 1 MiB, as many as are read ahead where there is memory. With less for
// each, reading many short pieces costs more than spilling.
constexpr uint64_t least_bytes_of_a_run = 16 * MiB;

}  // namespace

std::optional<size_t> tasks_in_memory(const plan::graph& g, const stages& all, size_t stage, size_t step,
                                      uint64_t memory_bytes) {
  uint64_t wanted = 0;
  for (const int n : all.all[stage].runs) {
    const plan::node& sort = g.nodes[static_cast<size_t>(n)];
    if (sort.facts.sort.limit_rows > 0) continue;  // of a run, the first rows are all that is written
    // Half of a sort's memory may keep rows (run_creator.h).
    wanted += 2 * std::min(sort.facts.sort.num_bytes.value_or(0), UINT64_MAX / 1024);
  }
  const uint64_t for_sorts = memory_bytes - memory_bytes / 8;  // the rest is for those that read and write
  if (wanted == 0 || for_sorts == 0) return std::nullopt;
  // Those of another stage may be merged by the same tasks.
  uint64_t num_sorts = 0;
  for (const struct stage& s : all.all) num_sorts += s.runs.size();
  const uint64_t num_tasks = round_up((wanted + for_sorts - 1) / for_sorts, step);
  if (num_tasks * num_sorts > memory_bytes / least_bytes_of_a_run) return std::nullopt;
  return num_tasks;
}

}  // namespace flowrun::cluster
