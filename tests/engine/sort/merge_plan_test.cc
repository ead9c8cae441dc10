#include "engine/sort/merge_plan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "engine/base/error.h"

namespace flowrun::sort {
namespace {

// Carries the steps out on the sizes; checks that each is possible. Returns the runs left and the rows moved.
std::pair<std::vector<uint64_t>, uint64_t> carried_out(std::vector<uint64_t> sizes,
                                                       const std::vector<merge_step>& steps, uint64_t fan_in) {
  uint64_t moved = 0;
  for (const merge_step& s : steps) {
    EXPECT_GE(s.count, 2U);
    EXPECT_LE(s.count, fan_in);
    if (s.first + s.count > sizes.size()) {
      ADD_FAILURE() << "a step beyond the list";
      break;
    }
    const auto from = sizes.begin() + static_cast<int64_t>(s.first);
    const uint64_t sum = std::accumulate(from, from + static_cast<int64_t>(s.count), uint64_t{0});
    moved += sum;
    *from = sum;
    sizes.erase(from + 1, from + static_cast<int64_t>(s.count));
  }
  return {sizes, moved};
}

TEST(merge_plan, does_nothing_when_one_merge_takes_all) {
  EXPECT_TRUE(plan_merges({}, 2).empty());
  EXPECT_TRUE(plan_merges({5}, 2).empty());
  EXPECT_TRUE(plan_merges({5, 6, 7, 8}, 4).empty());
}

TEST(merge_plan, takes_no_more_runs_than_needed_and_the_cheapest) {
  const std::vector<merge_step> steps = plan_merges({9, 1, 2, 9, 9}, 4);
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].first, 1U);
  EXPECT_EQ(steps[0].count, 2U);
}

TEST(merge_plan, two_levels_of_equal_runs_move_the_least) {
  for (const uint64_t fan_in : {uint64_t{2}, uint64_t{3}, uint64_t{8}, uint64_t{31}}) {
    for (uint64_t num_runs = fan_in + 1; num_runs <= fan_in * fan_in; ++num_runs) {
      const std::vector<uint64_t> sizes(num_runs, 10);
      const auto [left, moved] = carried_out(sizes, plan_merges(sizes, fan_in), fan_in);
      EXPECT_EQ(left.size(), fan_in);
      // Each intermediate merge of c runs removes c - 1; removing num_runs - fan_in with the fewest runs touched.
      const uint64_t surplus = num_runs - fan_in;
      const uint64_t merges = (surplus + fan_in - 2) / (fan_in - 1);
      EXPECT_EQ(moved, 10 * (surplus + merges)) << num_runs << " runs, fan-in " << fan_in;
    }
  }
}

TEST(merge_plan, ends_with_the_fan_in_for_any_sizes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint64_t fan_in = 2 + random() % 9;
    std::vector<uint64_t> sizes(1 + random() % 200);
    for (uint64_t& s : sizes) s = random() % 1000;
    const std::vector<merge_step> steps = plan_merges(sizes, fan_in);
    const auto [left, moved] = carried_out(sizes, steps, fan_in);
    EXPECT_EQ(left.size(), std::min<uint64_t>(sizes.size(), fan_in));
    const uint64_t total = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
    EXPECT_EQ(std::accumulate(left.begin(), left.end(), uint64_t{0}), total);
    EXPECT_LE(moved, total * (merge_passes(sizes.size(), steps) - 1));
  }
}

TEST(merge_plan, refuses_a_fan_in_of_one) { EXPECT_THROW(plan_merges({1, 2}, 1), error); }

TEST(merge_passes, counts_how_often_a_row_is_read) {
  EXPECT_EQ(merge_passes(0, {}), 0U);
  EXPECT_EQ(merge_passes(1, {}), 1U);
  EXPECT_EQ(merge_passes(7, {}), 1U);
  EXPECT_EQ(merge_passes(5, {{0, 2}}), 2U);
  EXPECT_EQ(merge_passes(5, {{0, 2}, {1, 2}}), 2U);
  EXPECT_EQ(merge_passes(5, {{0, 2}, {0, 2}}), 3U);
}

TEST(merge_passes, is_the_logarithm_for_equal_runs) {
  for (const uint64_t fan_in : {uint64_t{2}, uint64_t{3}, uint64_t{5}, uint64_t{16}}) {
    for (uint64_t num_runs = 1; num_runs <= 300; ++num_runs) {
      uint64_t passes = 1;
      for (uint64_t reach = fan_in; reach < num_runs; reach *= fan_in) ++passes;
      const std::vector<merge_step> steps = plan_merges(std::vector<uint64_t>(num_runs, 1), fan_in);
      EXPECT_EQ(merge_passes(num_runs, steps), passes) << num_runs << " runs, fan-in " << fan_in;
    }
  }
}

}  // namespace
}  // namespace flowrun::sort
