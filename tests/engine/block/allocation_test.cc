// Allocation strategies: what each promises about neighbouring blocks and about streams.
#include "engine/block/allocation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

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

// Striped: any D neighbouring blocks lie on D disks (papers/000, section 2.4).
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

}  // namespace
}  // namespace flowrun::block
