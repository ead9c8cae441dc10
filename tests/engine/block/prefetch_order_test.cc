// The order of issuing that is decided piece by piece, beside that of the whole sequence.
#include "engine/block/prefetch_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/base/error.h"
#include "engine/block/prefetch_schedule.h"
#include "tests/engine/block/merge_sequence.h"

namespace flowrun::block {
namespace {

using disks = std::vector<uint32_t>;
using positions = std::vector<uint64_t>;

// As a reader does: `piece` blocks at once.
positions in_pieces(const disks& sigma, const std::vector<double>& weights, uint64_t num_buffers, uint64_t piece,
                    const prefetch_options& options = {}) {
  order_in_pieces order(weights, num_buffers, options);
  positions out;
  std::vector<bool> issued(sigma.size(), false);
  uint64_t num_looked_at = 0;
  for (uint64_t at = 0; at < sigma.size(); at += piece) {
    const uint64_t end = std::min<uint64_t>(at + piece, sigma.size());
    const positions next = order.extend(std::span(sigma).subspan(at, end - at), end == sigma.size());
    out.insert(out.end(), next.begin(), next.end());
    for (const uint64_t position : next) issued[position] = true;
    EXPECT_GE(order.num_decided() + order.num_seen(), end);
    if (order.is_that_of_sequence()) continue;
    for (; num_looked_at < order.num_decided(); ++num_looked_at) EXPECT_TRUE(issued[num_looked_at]) << num_looked_at;
  }
  EXPECT_EQ(order.num_decided(), sigma.size());
  return out;
}

// Most blocks that had been issued before one that comes before them.
uint64_t most_early(const positions& order) {
  uint64_t most = 0;
  std::vector<bool> issued(order.size(), false);
  uint64_t first_open = 0;
  for (uint64_t i = 0; i < order.size(); ++i) {
    EXPECT_FALSE(issued[order[i]]);
    issued[order[i]] = true;
    while (first_open < order.size() && issued[first_open]) ++first_open;
    if (first_open < order.size()) most = std::max(most, i + 1 - first_open);
  }
  return most;
}

uint64_t steps_of(const positions& order, const disks& sigma, const std::vector<uint64_t>& ticks, uint64_t buffers) {
  const positions starts = simulate_fetching(order, sigma, ticks, buffers);
  uint64_t end = 0;
  for (uint64_t i = 0; i < order.size(); ++i) end = std::max(end, starts[i] + ticks[sigma[order[i]]]);
  return end;
}

TEST(prefetch_order, pieces_are_as_safe_and_as_good_as_the_whole) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    const auto num_disks = static_cast<unsigned>(2 + random() % 7);
    const uint64_t num_buffers = 1 + random() % (8 * num_disks);
    std::vector<double> weights(num_disks, 1);
    if (round % 3 == 0)
      for (double& w : weights) w = 1 + static_cast<double>(random() % 5);
    // Random disks, in bursts of one disk, or as a merge wants them.
    disks sigma(500 + random() % 1000);
    if (round % 4 == 3) {
      sigma = testing::disks_of(testing::merge_of_equal_runs(20, sigma.size() / 20), 20,
                                allocation_strategy::randomised_cycling, num_disks, random());
    } else {
      const uint64_t burst = 1 + random() % 6;
      for (uint64_t i = 0; i < sigma.size(); ++i)
        sigma[i] = i % burst == 0 ? static_cast<uint32_t>(random() % num_disks) : sigma[i - 1];
    }
    const prefetch_options options{.scheduled_buffers = static_cast<unsigned>(num_buffers)};
    const std::vector<uint64_t> ticks = ticks_of_weights(weights);
    const uint64_t least = optimal_schedule(sigma, ticks, num_buffers).num_steps;
    const uint64_t slowest = *std::max_element(ticks.begin(), ticks.end());
    for (const uint64_t piece : {uint64_t{1}, uint64_t{37}, num_buffers * 16, sigma.size(), 2 * sigma.size()}) {
      const positions order = in_pieces(sigma, weights, num_buffers, piece, options);
      positions sorted = order;
      std::sort(sorted.begin(), sorted.end());
      positions all(sigma.size());
      std::iota(all.begin(), all.end(), uint64_t{0});
      ASSERT_EQ(sorted, all);
      EXPECT_LT(most_early(order), num_buffers);
      const uint64_t steps = steps_of(order, sigma, ticks, num_buffers);
      EXPECT_GE(steps, least);
      if (piece >= sigma.size()) {
        EXPECT_EQ(steps, least);
      }
      const uint64_t more = piece < 8 * num_buffers ? least / 20 : least / 50;
      EXPECT_LE(steps, least + more + slowest) << num_disks << " disks, " << num_buffers << " buffers, " << piece;
    }
  }
}

TEST(prefetch_order, one_disk_and_the_predicted_order_need_no_schedule) {
  const disks one(100, 0), two{0, 1, 1, 0};
  EXPECT_TRUE(in_pieces(one, {1}, 8, 7).empty());
  EXPECT_TRUE(in_pieces(two, {1, 1}, 8, 3, {.order = fetch_order::predicted}).empty());
  EXPECT_TRUE(order_in_pieces(std::vector<double>{1}, 8, {}).is_that_of_sequence());
  EXPECT_FALSE(order_in_pieces(std::vector<double>{1, 1}, 8, {}).is_that_of_sequence());
}

// σ = 0 0 0 1 on two disks in two buffers: the block of disk 1 has its buffer already, so that those of disk 0 come one
// by one.
TEST(prefetch_order, blocks_that_were_fetched_keep_their_buffers) {
  const disks sigma{0, 0, 0, no_disk};
  const prefetch_schedule schedule = optimal_schedule(sigma, 2, 2);
  EXPECT_EQ(schedule.order, (positions{0, 1, 2}));
  EXPECT_EQ(schedule.step, (positions{0, 1, 2}));
  EXPECT_EQ(schedule.num_steps, 3u);
  EXPECT_THROW(optimal_schedule(disks{0, no_disk, no_disk}, 2, 2), error);  // there is no buffer for block 0
}

}  // namespace
}  // namespace flowrun::block
