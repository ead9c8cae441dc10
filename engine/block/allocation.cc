// Disk allocation strategies; see allocation.h.
#include "engine/block/allocation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::block {

namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Random bits to a number below `bound` by multiplication; the bias is below bound / 2^32.
unsigned below(uint64_t bits, unsigned bound) { return static_cast<unsigned>(((bits >> 32) * bound) >> 32); }

// The disks with slots, each as often as it has slots: slot i of disk d at (i + offset(d)) / slots[d], in that order.
template <class Offset>
std::vector<unsigned> spread(const std::vector<unsigned>& slots, Offset offset) {
  std::vector<std::pair<double, unsigned>> points;
  for (unsigned disk = 0; disk < slots.size(); ++disk) {
    if (slots[disk] == 0) continue;
    const double first = offset();
    for (unsigned i = 0; i < slots[disk]; ++i) points.emplace_back((i + first) / slots[disk], disk);
  }
  std::sort(points.begin(), points.end());
  std::vector<unsigned> cycle;
  for (const auto& [where, disk] : points) cycle.push_back(disk);
  return cycle;
}

void turn(std::vector<unsigned>& cycle, unsigned by) {
  std::rotate(cycle.begin(), cycle.begin() + static_cast<std::ptrdiff_t>(by), cycle.end());
}

}  // namespace

std::vector<unsigned> cycle_slots(std::span<const double> weights) {
  constexpr double good_enough = 1.01;
  double total = 0;
  unsigned num_used = 0;
  for (double weight : weights) {
    FLOWRUN_CHECK(std::isfinite(weight) && weight >= 0);
    total += weight;
    num_used += weight > 0;
  }
  FLOWRUN_CHECK(num_used > 0 && std::isfinite(total));

  // Slot by slot to the disk that is the least overloaded with it (the method of Jefferson and D'Hondt). For every W on
  // the way, no other way to share W slots has a smaller largest overload c_d / (W share_d).
  std::vector<unsigned> slots(weights.size(), 0), best;
  double most = 0, best_overload = 0;  // the largest c_d / share_d; the largest overload of `best`
  const unsigned most_slots = std::max(64u, 16 * num_used);
  for (unsigned num_slots = 1; num_slots <= most_slots; ++num_slots) {
    size_t chosen = weights.size();
    double least = 0;
    for (size_t disk = 0; disk < weights.size(); ++disk) {
      if (weights[disk] == 0) continue;
      const double load = (slots[disk] + 1) * (total / weights[disk]);
      if (chosen == weights.size() || load < least) std::tie(chosen, least) = std::pair(disk, load);
    }
    ++slots[chosen];
    most = std::max(most, least);
    const double overload = most / num_slots;
    if (best.empty() || overload < best_overload) std::tie(best, best_overload) = std::pair(slots, overload);
    if (best_overload <= good_enough) break;
  }
  return best;
}

disk_cycle::disk_cycle(allocation_strategy strategy, unsigned num_disks, uint64_t seed, uint64_t stream)
    : disk_cycle(strategy, std::vector<unsigned>(num_disks, 1), seed, stream) {}

disk_cycle::disk_cycle(allocation_strategy strategy, std::span<const double> weights, uint64_t seed, uint64_t stream)
    : disk_cycle(strategy, cycle_slots(weights), seed, stream) {}

disk_cycle::disk_cycle(allocation_strategy strategy, const std::vector<unsigned>& slots, uint64_t seed, uint64_t stream)
    : per_block_(strategy == allocation_strategy::fully_randomised), key_(mix(mix(seed) ^ stream)) {
  cycle_ = spread(slots, [] { return 0.5; });
  FLOWRUN_CHECK(!cycle_.empty());
  const auto num_slots = static_cast<unsigned>(cycle_.size());
  uint64_t bits = key_;
  switch (strategy) {
    case allocation_strategy::striping:
    case allocation_strategy::fully_randomised: break;
    case allocation_strategy::simple_randomised: turn(cycle_, below(mix(bits), num_slots)); break;
    case allocation_strategy::randomised_cycling:
      if (std::all_of(slots.begin(), slots.end(), [](unsigned c) { return c <= 1; })) {
        for (unsigned i = num_slots; i > 1; --i) {  // Fisher and Yates
          bits = mix(bits);
          std::swap(cycle_[i - 1], cycle_[below(bits, i)]);
        }
      } else {
        cycle_ = spread(slots, [&bits] {
          bits = mix(bits);
          return static_cast<double>(bits >> 11) * 0x1p-53;
        });
        turn(cycle_, below(mix(bits), num_slots));
      }
      break;
  }
}

unsigned disk_cycle::disk_of(uint64_t block_index) const {
  const auto num_slots = static_cast<unsigned>(cycle_.size());
  return cycle_[per_block_ ? below(mix(key_ ^ mix(block_index)), num_slots) : block_index % num_slots];
}

}  // namespace flowrun::block
