// Prefetch schedules: worked examples, the promises of the header on random inputs, and optimality on all small ones.
#include "engine/block/prefetch_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/base/error.h"

namespace flowrun::block {
namespace {

using disks = std::vector<uint32_t>;
using positions = std::vector<uint64_t>;

struct example {
  disks sigma;
  unsigned num_disks;
  uint64_t num_buffers;
  positions order;
  positions step;
  uint64_t naive_steps;
};

// Worked by hand: σ reversed, fill the buffers, put out the head of each queue.
const example examples[] = {
    {{}, 2, 3, {}, {}, 0},
    {{0}, 1, 1, {0}, {0}, 1},
    {{0, 0, 0}, 1, 2, {0, 1, 2}, {0, 1, 2}, 3},                    // one disk: nothing to gain
    {{0, 1, 2, 3}, 4, 4, {0, 1, 2, 3}, {0, 0, 0, 0}, 1},           // striped: one step
    {{0, 1, 2, 3}, 4, 1, {0, 1, 2, 3}, {0, 1, 2, 3}, 4},           // one buffer: one at a time
    {{0, 1, 0, 2, 2}, 3, 3, {0, 1, 3, 2, 4}, {0, 0, 0, 1, 1}, 3},  // the header's example
    {{0, 0, 1, 0, 1, 1}, 2, 3, {0, 2, 1, 4, 3, 5}, {0, 0, 1, 1, 2, 2}, 4},
    {{0, 0, 1, 0, 2, 2}, 3, 3, {0, 1, 2, 4, 3, 5}, {0, 1, 1, 1, 2, 2}, 4},
};

TEST(prefetch_schedule, worked_examples) {
  for (const example& e : examples) {
    const prefetch_schedule optimal = optimal_schedule(e.sigma, e.num_disks, e.num_buffers);
    EXPECT_EQ(optimal.order, e.order);
    EXPECT_EQ(optimal.step, e.step);
    EXPECT_EQ(optimal.num_steps, e.step.empty() ? 0 : e.step.back() + 1);
    const prefetch_schedule naive = naive_schedule(e.sigma, e.num_disks, e.num_buffers);
    positions identity(e.sigma.size());
    std::iota(identity.begin(), identity.end(), uint64_t{0});
    EXPECT_EQ(naive.order, identity);
    EXPECT_EQ(naive.num_steps, e.naive_steps);
  }
}

TEST(prefetch_schedule, naive_steps_by_hand) {
  // Buffers for a b c: a, b in step 0; c waits for disk 0; d gets a buffer then, e only after c.
  EXPECT_EQ(naive_schedule(disks{0, 1, 0, 2, 2}, 3, 3).step, (positions{0, 0, 1, 1, 2}));
}

TEST(prefetch_schedule, an_order_that_gets_stuck_is_refused) {
  EXPECT_THROW(simulate_fetching(positions{1, 0}, disks{0, 0}, 1, 1), error);
  EXPECT_EQ(simulate_fetching(positions{1, 0}, disks{0, 0}, 1, 2), (positions{0, 1}));
}

TEST(prefetch_schedule, keeps_its_promises_on_random_inputs) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const unsigned num_disks = 1 + random() % 6;
    const uint64_t num_buffers = 1 + random() % 20;
    disks sigma(random() % 200);
    for (auto& disk : sigma) disk = random() % (random() % 3 == 0 ? 1 : num_disks);
    const prefetch_schedule schedule = optimal_schedule(sigma, num_disks, num_buffers);

    positions sorted = schedule.order;
    std::sort(sorted.begin(), sorted.end());
    for (uint64_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], i);
    ASSERT_TRUE(std::is_sorted(schedule.step.begin(), schedule.step.end()));

    // A prefetcher that gives out buffers in this order needs no more steps.
    const positions simulated = simulate_fetching(schedule.order, sigma, num_disks, num_buffers);
    const uint64_t taken = simulated.empty() ? 0 : *std::max_element(simulated.begin(), simulated.end()) + 1;
    ASSERT_EQ(taken, schedule.num_steps);
    ASSERT_LE(schedule.num_steps, naive_schedule(sigma, num_disks, num_buffers).num_steps);

    // At most m - 1 later blocks come before a block.
    for (uint64_t i = 0; i < schedule.order.size(); ++i) {
      const auto num_later = std::count_if(schedule.order.begin(), schedule.order.begin() + static_cast<long>(i),
                                           [&](uint64_t before) { return before > schedule.order[i]; });
      ASSERT_LT(static_cast<uint64_t>(num_later), num_buffers);
    }
  }
}

TEST(prefetch_schedule, equal_ticks_stretch_the_schedule) {
  std::mt19937 random(12);
  for (int round = 0; round < 100; ++round) {
    const unsigned num_disks = 1 + random() % 6;
    const uint64_t num_buffers = 1 + random() % 20;
    disks sigma(random() % 200);
    for (auto& disk : sigma) disk = random() % num_disks;
    for (const auto schedule_of : {0, 1}) {
      const std::vector<uint64_t> sevens(num_disks, 7);
      const prefetch_schedule plain = schedule_of == 0 ? optimal_schedule(sigma, num_disks, num_buffers)
                                                       : naive_schedule(sigma, num_disks, num_buffers);
      const prefetch_schedule stretched =
          schedule_of == 0 ? optimal_schedule(sigma, sevens, num_buffers) : naive_schedule(sigma, sevens, num_buffers);
      EXPECT_EQ(stretched.order, plain.order);
      EXPECT_EQ(stretched.num_steps, 7 * plain.num_steps);
      for (uint64_t i = 0; i < sigma.size(); ++i) ASSERT_EQ(stretched.step[i], 7 * plain.step[i]);
    }
  }
}

// Disk 0 is twice as fast. σ = a b c d e on disks 0 0 1 0 1, m = 3. Backwards [e d c]: e in ticks 0-1, d in 0; b takes
// its place, in 1; then c in 2-3 and a in 2: four ticks. Forwards: c in 0-1, a in 1, b in 2, e in 2-3, d in 3.
TEST(prefetch_schedule, a_faster_disk_by_hand) {
  const prefetch_schedule schedule = optimal_schedule(disks{0, 0, 1, 0, 1}, positions{1, 2}, 3);
  EXPECT_EQ(schedule.order, (positions{2, 0, 1, 4, 3}));
  EXPECT_EQ(schedule.step, (positions{0, 1, 2, 2, 3}));
  EXPECT_EQ(schedule.num_steps, 4u);
}

TEST(prefetch_schedule, millions_of_blocks) {
  std::mt19937 random(13);
  disks sigma(1'000'000);
  for (auto& disk : sigma) disk = random() % 64;
  const prefetch_schedule schedule = optimal_schedule(sigma, 64, 256);
  EXPECT_LT(schedule.num_steps, sigma.size() / 64 * 115 / 100);
}

}  // namespace
}  // namespace flowrun::block
