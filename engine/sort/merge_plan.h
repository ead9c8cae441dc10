// Which runs to merge first when there are more than one merge can take. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace flowrun::sort {

// Merge the `count` neighbouring runs from `first` on; the result takes their place.
struct merge_step {
  uint64_t first = 0;
  uint64_t count = 0;
};

// The intermediate merges that bring runs of the given sizes (bytes or rows, in input order) down to at most `fan_in`
// >= 2. Each step names positions in the list as it is after the steps before it. Only neighbours are merged, so that
// equal keys keep input order. The first step takes just so many runs that all other steps and the last merge are full
// ones (Knuth, volume 3, 5.4.9). Each step takes the cheapest stretch there is. This moves little more than the least
// possible (with equal runs: exactly the least number of rows for two levels).
std::vector<merge_step> plan_merges(std::vector<uint64_t> run_sizes, uint64_t fan_in);

// How often a row is read, at most, when `steps` and one last merge take `num_runs` runs: 0 for none, 1 without steps.
uint64_t merge_passes(uint64_t num_runs, const std::vector<merge_step>& steps);

}  // namespace flowrun::sort
