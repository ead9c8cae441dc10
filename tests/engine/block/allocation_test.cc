// Allocation strategies: what each promises about neighbouring blocks and about streams.
#include "engine/block/allocation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::block {
namespace {

constexpr allocation_strategy all[] = {allocation_strategy::striping, allocation_strategy::simple_randomised,
                                       allocation_strategy::fully_randomised, allocation_strategy::randomised_cycling};

TEST(allocation, striping_goes_round) {
  const disk_cycle disks(allocation_strategy::striping, 3, 1, 9);
  for (uint64_t j = 0; j < 10; ++j) EXPECT_EQ(disks.disk_of(j), j % 3);
}

TEST(allocation, every_disk_is_in_range_and_repeatable) {
  for (const auto strategy : all) {
    for (unsigned num_disks = 1; num_disks <= 9; ++num_disks) {
      const disk_cycle one(strategy, num_disks, 5, 77), same(strategy, num_disks, 5, 77);
      for (uint64_t j : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, UINT64_MAX - 1, UINT64_MAX}) {
        EXPECT_LT(one.disk_of(j), num_disks);
        EXPECT_EQ(one.disk_of(j), same.disk_of(j));
      }
    }
  }
}

// Striped: any D neighbouring blocks lie on D disks (Asynchronous sorting, section 2.4).
TEST(allocation, neighbouring_blocks_lie_on_different_disks) {
  for (const auto strategy : {allocation_strategy::striping, allocation_strategy::simple_randomised,
                              allocation_strategy::randomised_cycling}) {
    for (uint64_t stream = 0; stream < 20; ++stream) {
      constexpr unsigned num_disks = 7;
      const disk_cycle disks(strategy, num_disks, 3, stream);
      for (uint64_t first = 0; first < 2 * num_disks; ++first) {
        std::set<unsigned> seen;
        for (unsigned j = 0; j < num_disks; ++j) seen.insert(disks.disk_of(first + j));
        EXPECT_EQ(seen.size(), num_disks);
      }
    }
  }
}

// Randomised cycling: π is uniform over the permutations, independently per stream.
TEST(allocation, randomised_cycling_draws_every_permutation_equally_often) {
  constexpr unsigned num_disks = 3;
  constexpr int num_streams = 6000;
  std::vector<int> count(27, 0);
  for (uint64_t stream = 0; stream < num_streams; ++stream) {
    const disk_cycle disks(allocation_strategy::randomised_cycling, num_disks, 1, stream);
    ++count[disks.disk_of(0) * 9 + disks.disk_of(1) * 3 + disks.disk_of(2)];
  }
  int num_permutations = 0;
  for (int c : count) {
    if (c == 0) continue;
    ++num_permutations;
    EXPECT_NEAR(c, num_streams / 6, 150);  // five standard deviations
  }
  EXPECT_EQ(num_permutations, 6);
}

TEST(allocation, random_starts_and_random_disks_are_balanced) {
  constexpr unsigned num_disks = 4;
  std::vector<int> starts(num_disks, 0), anywhere(num_disks, 0);
  const disk_cycle random(allocation_strategy::fully_randomised, num_disks, 1, 1);
  for (uint64_t i = 0; i < 4000; ++i) {
    ++starts[disk_cycle(allocation_strategy::simple_randomised, num_disks, 1, i).disk_of(0)];
    ++anywhere[random.disk_of(i)];
  }
  for (unsigned d = 0; d < num_disks; ++d) {
    EXPECT_NEAR(starts[d], 1000, 140);
    EXPECT_NEAR(anywhere[d], 1000, 140);
  }
}

TEST(allocation, the_seed_changes_the_draw) {
  int num_different = 0;
  for (uint64_t stream = 0; stream < 100; ++stream) {
    const disk_cycle a(allocation_strategy::randomised_cycling, 8, 1, stream);
    const disk_cycle b(allocation_strategy::randomised_cycling, 8, 2, stream);
    num_different += a.disk_of(0) != b.disk_of(0);
  }
  EXPECT_GT(num_different, 70);
}

// Drawn before weights existed: scratch layouts stay what they were.
TEST(allocation, equal_weights_and_none_choose_alike) {
  for (const auto strategy : all) {
    for (unsigned num_disks = 1; num_disks <= 9; ++num_disks) {
      const std::vector<double> weights(num_disks, 87.5);
      for (uint64_t stream = 0; stream < 20; ++stream) {
        const disk_cycle plain(strategy, num_disks, 5, stream), weighted(strategy, weights, 5, stream);
        for (uint64_t j = 0; j < 40; ++j) ASSERT_EQ(plain.disk_of(j), weighted.disk_of(j));
      }
    }
  }
  const auto first_eight = [](allocation_strategy strategy) {
    const disk_cycle disks(strategy, 5, 5, 78);
    std::vector<unsigned> result;
    for (uint64_t j = 0; j < 8; ++j) result.push_back(disks.disk_of(j));
    return result;
  };
  using list = std::vector<unsigned>;
  EXPECT_EQ(first_eight(allocation_strategy::simple_randomised), (list{1, 2, 3, 4, 0, 1, 2, 3}));
  EXPECT_EQ(first_eight(allocation_strategy::fully_randomised), (list{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(first_eight(allocation_strategy::randomised_cycling), (list{2, 4, 3, 0, 1, 2, 4, 3}));
}

TEST(cycle_slots, are_short_for_simple_ratios) {
  using list = std::vector<unsigned>;
  EXPECT_EQ(cycle_slots(std::vector<double>{3, 3, 3}), (list{1, 1, 1}));
  EXPECT_EQ(cycle_slots(std::vector<double>{100, 100, 50, 50}), (list{2, 2, 1, 1}));
  EXPECT_EQ(cycle_slots(std::vector<double>{1, 0, 1}), (list{1, 0, 1}));
  EXPECT_EQ(cycle_slots(std::vector<double>{0, 5}), (list{0, 1}));
  EXPECT_EQ(cycle_slots(std::vector<double>{100.4, 99.8}), (list{1, 1}));       // measured, as good as equal
  EXPECT_EQ(cycle_slots(std::vector<double>{1000, 1000, 1}), (list{1, 1, 0}));  // not worth a seek
}

TEST(cycle_slots, need_a_weight) {
  EXPECT_THROW(cycle_slots(std::vector<double>{}), error);
  EXPECT_THROW(cycle_slots(std::vector<double>{0, 0}), error);
  EXPECT_THROW(cycle_slots(std::vector<double>{1, -1}), error);
  EXPECT_THROW(cycle_slots(std::vector<double>{1, std::nan("")}), error);
  EXPECT_THROW(disk_cycle(allocation_strategy::striping, 0, 1, 1), error);
}

// The promise of the header, on random weights over three orders of magnitude: writing n blocks takes at most 1/16
// longer than with exact shares, and the cycle is bounded.
TEST(cycle_slots, come_near_any_ratio) {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> magnitude(0, 3);
  double worst_of_few = 1;
  for (int round = 0; round < 3000; ++round) {
    std::vector<double> weights(1 + random() % 20);
    for (double& weight : weights) weight = random() % 8 == 0 ? 0 : std::pow(10, magnitude(random));
    weights.front() += 1;
    const std::vector<unsigned> slots = cycle_slots(weights);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const unsigned num_slots = std::accumulate(slots.begin(), slots.end(), 0u);
    ASSERT_LE(num_slots, std::max<size_t>(64, 16 * weights.size()));
    double overload = 0;
    for (size_t disk = 0; disk < weights.size(); ++disk) {
      if (weights[disk] == 0) {
        ASSERT_EQ(slots[disk], 0u);
        continue;
      }
      overload = std::max(overload, slots[disk] / (weights[disk] / total * num_slots));
      if (weights[disk] / total > 1.0 / 16) {
        ASSERT_GT(slots[disk], 0u);
      }
    }
    ASSERT_LE(overload, 1 + 1.0 / 16);
    if (weights.size() <= 4) worst_of_few = std::max(worst_of_few, overload);
  }
  EXPECT_LE(worst_of_few, 1.035);
}

// Every window of a whole cycle has exact shares, shorter and longer ones nearly, wherever they begin.
TEST(allocation, weighted_windows_hold_each_disks_share) {
  for (const std::vector<double>& weights :
       {std::vector<double>{2, 2, 1, 1}, {7, 3}, {5, 0, 1, 2.5}, {10, 9, 8, 7, 6, 5, 4}, {1, 1, 1, 20}}) {
    const std::vector<unsigned> slots = cycle_slots(weights);
    const unsigned num_slots = std::accumulate(slots.begin(), slots.end(), 0u);
    for (const auto strategy : {allocation_strategy::striping, allocation_strategy::simple_randomised,
                                allocation_strategy::randomised_cycling}) {
      for (uint64_t stream = 0; stream < 30; ++stream) {
        const disk_cycle disks(strategy, weights, 3, stream);
        for (uint64_t first = 0; first < num_slots; ++first) {
          std::vector<unsigned> count(weights.size(), 0);
          for (unsigned length = 1; length <= 2 * num_slots; ++length) {
            ++count[disks.disk_of(first + length - 1)];
            for (size_t disk = 0; disk < weights.size(); ++disk) {
              const double share = static_cast<double>(slots[disk]) / num_slots;
              const double spread =
                  length % num_slots == 0 ? 1e-9 : 1 + share * static_cast<double>(weights.size() - 2);
              ASSERT_NEAR(count[disk], share * length, spread);
            }
          }
        }
      }
    }
  }
}

// Each block of a stream is on each disk with that disk's probability, independent of other streams, and so are pairs
// of blocks of two streams.
TEST(allocation, weighted_random_draws_follow_the_weights) {
  const std::vector<double> weights{3, 2, 1};
  constexpr int num_streams = 12000;
  for (const auto strategy : {allocation_strategy::simple_randomised, allocation_strategy::fully_randomised,
                              allocation_strategy::randomised_cycling}) {
    for (uint64_t j : {0u, 1u, 4u, 77u}) {
      std::vector<int> count(3, 0), pairs(9, 0);
      for (uint64_t stream = 0; stream < num_streams; ++stream) {
        const unsigned disk = disk_cycle(strategy, weights, 9, stream).disk_of(j);
        const unsigned neighbour = disk_cycle(strategy, weights, 9, stream + 1).disk_of(j);
        ++count[disk];
        ++pairs[disk * 3 + neighbour];
      }
      for (unsigned d = 0; d < 3; ++d) {
        EXPECT_NEAR(count[d], num_streams * weights[d] / 6, 270);  // five standard deviations
        for (unsigned e = 0; e < 3; ++e) {
          EXPECT_NEAR(pairs[d * 3 + e], num_streams * weights[d] * weights[e] / 36, 240);
        }
      }
    }
  }
}

TEST(allocation, weighted_cycles_differ_between_streams_and_repeat_for_one) {
  const std::vector<double> weights{4, 3, 2, 1};
  std::set<std::vector<unsigned>> seen;
  for (uint64_t stream = 0; stream < 100; ++stream) {
    const disk_cycle disks(allocation_strategy::randomised_cycling, weights, 3, stream);
    const disk_cycle same(allocation_strategy::randomised_cycling, weights, 3, stream);
    std::vector<unsigned> cycle;
    for (uint64_t j = 0; j < 10; ++j) {
      cycle.push_back(disks.disk_of(j));
      EXPECT_EQ(same.disk_of(j), cycle.back());
    }
    seen.insert(cycle);
  }
  EXPECT_GT(seen.size(), 80u);
}

}  // namespace
}  // namespace flowrun::block
