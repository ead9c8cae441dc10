#include "engine/sort/merge_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"

namespace flowrun::sort {

std::vector<merge_step> plan_merges(std::vector<uint64_t> run_sizes, uint64_t fan_in) {
  FLOWRUN_CHECK(fan_in >= 2);
  std::vector<merge_step> steps;
  while (run_sizes.size() > fan_in) {
    const uint64_t incomplete = (run_sizes.size() - fan_in) % (fan_in - 1);
    const uint64_t count = incomplete > 0 ? incomplete + 1 : fan_in;
    uint64_t sum = std::accumulate(run_sizes.begin(), run_sizes.begin() + static_cast<int64_t>(count), uint64_t{0});
    uint64_t best = sum;
    uint64_t best_first = 0;
    for (uint64_t first = 1; first + count <= run_sizes.size(); ++first) {
      sum += run_sizes[first + count - 1] - run_sizes[first - 1];
      if (sum < best) {
        best = sum;
        best_first = first;
      }
    }
    steps.push_back({best_first, count});
    const auto from = run_sizes.begin() + static_cast<int64_t>(best_first);
    *from = best;
    run_sizes.erase(from + 1, from + static_cast<int64_t>(count));
  }
  return steps;
}

uint64_t merge_passes(uint64_t num_runs, const std::vector<merge_step>& steps) {
  if (num_runs == 0) return 0;
  std::vector<uint64_t> reads(num_runs, 0);  // by run: how often its rows were read to make it
  for (const merge_step& s : steps) {
    const auto from = reads.begin() + static_cast<int64_t>(s.first);
    const auto to = from + static_cast<int64_t>(s.count);
    *from = *std::max_element(from, to) + 1;
    reads.erase(from + 1, to);
  }
  return *std::max_element(reads.begin(), reads.end()) + 1;
}

}  // namespace flowrun::sort
