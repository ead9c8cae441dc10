// How busy the optimal schedule keeps the disks while merging (Asynchronous sorting, section 2.4): after a start-up of
// (m/D) log m steps, (1 - O(D/m)) D blocks are fetched per step on average, and about that many in almost every step. D
// is the number of disks and m that of buffers; the runs are allocated by randomised cycling, and may be random or
// adversarial. The constants below are measured ones (tests/bench/schedule_table.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/block/allocation.h"
#include "engine/block/prefetch_schedule.h"
#include "tests/engine/block/merge_sequence.h"

namespace flowrun::block {
namespace {

constexpr unsigned rows_per_block = 1024;

struct busy_disks {
  double mean = 0;  // share of the disks, over the steps after the start-up
  double good = 0;  // share of those steps that fetch at least (1 - D/m) D blocks
  double full = 0;  // … D blocks
};

busy_disks busy_after_start(const io_schedule& schedule, unsigned num_disks, uint64_t num_buffers) {
  const auto m = static_cast<double>(num_buffers);
  const auto start_up = static_cast<uint64_t>(std::ceil(m / num_disks * std::log2(m)));
  std::vector<unsigned> fetched(schedule.num_steps, 0);
  for (uint64_t step : schedule.step) ++fetched[step];
  busy_disks busy;
  for (uint64_t step = start_up; step < fetched.size(); ++step) {
    busy.mean += fetched[step];
    busy.good += fetched[step] * num_buffers >= (num_buffers - num_disks) * num_disks;
    busy.full += fetched[step] == num_disks;
  }
  const auto num_steps = static_cast<double>(fetched.size() - start_up);
  return {busy.mean / num_steps / num_disks, busy.good / num_steps, busy.full / num_steps};
}

TEST(schedule_parallelism, randomised_cycling_keeps_the_disks_busy) {
  for (unsigned num_disks : {2u, 4u, 8u, 16u, 32u}) {
    for (uint64_t num_runs : {32u, 128u, 512u}) {
      const uint64_t blocks_per_run = std::max<uint64_t>(8, 2000 * num_disks / num_runs);
      for (bool random_runs : {true, false}) {
        const auto merge = random_runs
                               ? testing::merge_of_random_runs(num_runs, blocks_per_run, rows_per_block, num_runs)
                               : testing::merge_of_equal_runs(num_runs, blocks_per_run);
        const auto sigma =
            testing::disks_of(merge, num_runs, allocation_strategy::randomised_cycling, num_disks, num_disks);
        for (unsigned factor : {2u, 4u, 8u, 16u}) {
          const uint64_t m = uint64_t{factor} * num_disks;
          const auto busy = busy_after_start(optimal_schedule(sigma, num_disks, m), num_disks, m);
          SCOPED_TRACE(std::to_string(num_disks) + " disks, " + std::to_string(num_runs) +
                       " runs, m = " + std::to_string(factor) + "D" + (random_runs ? "" : ", equal runs"));
          EXPECT_GE(busy.mean, 1 - 0.6 / factor);
          EXPECT_GE(busy.good, 1 - 2.0 / factor);
          EXPECT_GE(busy.full, 1 - 0.6 * num_disks / factor);
        }
      }
    }
  }
}

// What it is good for: the order of prediction loses steps when the disks are many.
TEST(schedule_parallelism, the_naive_order_is_slower) {
  for (unsigned num_disks : {8u, 16u, 32u}) {
    constexpr uint64_t num_runs = 128;
    const auto merge = testing::merge_of_random_runs(num_runs, 2000 * num_disks / num_runs, rows_per_block, 1);
    const auto sigma = testing::disks_of(merge, num_runs, allocation_strategy::randomised_cycling, num_disks, 1);
    const uint64_t optimal = optimal_schedule(sigma, num_disks, 4 * num_disks).num_steps;
    const uint64_t naive = naive_schedule(sigma, num_disks, 4 * num_disks).num_steps;
    EXPECT_GT(naive * 100, optimal * 112) << num_disks;
  }
}

// Equal runs that all start on disk 0: every burst asks for one disk, and m buffers reach into at most m/k + 2 bursts.
// No order of fetching helps; random permutations do.
TEST(schedule_parallelism, striping_fails_on_adversarial_runs) {
  constexpr uint64_t num_runs = 128;
  for (unsigned num_disks : {4u, 8u, 16u}) {
    const uint64_t m = 4 * num_disks;
    const auto merge = testing::merge_of_equal_runs(num_runs, 2000 * num_disks / num_runs);
    const auto steps = [&](allocation_strategy strategy) {
      const auto sigma = testing::disks_of(merge, num_runs, strategy, num_disks, 1);
      return static_cast<double>(optimal_schedule(sigma, num_disks, m).num_steps);
    };
    const auto num_blocks = static_cast<double>(merge.size());
    const double striped = steps(allocation_strategy::striping);
    EXPECT_GE(striped, num_blocks / (static_cast<double>(m) / num_runs + 2));
    EXPECT_GE(striped, 2.5 * steps(allocation_strategy::randomised_cycling)) << num_disks;
  }
}

// Two of four disks at half speed: shared out by weight all are busy, evenly the fast ones wait for the slow ones.
TEST(schedule_parallelism, unequal_disks_add_up_when_blocks_are_shared_by_weight) {
  constexpr uint64_t num_runs = 64;
  const std::vector<double> weights{100, 100, 50, 50};
  const std::vector<uint64_t> ticks{1, 1, 2, 2};
  constexpr double blocks_per_tick = 3;
  const auto merge = testing::merge_of_random_runs(num_runs, 200, rows_per_block, 1);
  std::vector<disk_cycle> by_weight;
  for (uint64_t run = 0; run < num_runs; ++run) {
    by_weight.emplace_back(allocation_strategy::randomised_cycling, weights, 1, run);
  }
  const auto weighted = testing::disks_of(merge, by_weight);
  const auto even = testing::disks_of(merge, num_runs, allocation_strategy::randomised_cycling, 4, 1);
  const double least = static_cast<double>(merge.size()) / blocks_per_tick;
  for (unsigned factor : {2u, 4u, 8u, 16u}) {
    EXPECT_LE(static_cast<double>(optimal_schedule(weighted, ticks, 4 * factor).num_steps), least / (1 - 0.6 / factor));
    EXPECT_GE(static_cast<double>(optimal_schedule(even, ticks, 4 * factor).num_steps), 1.49 * least);
  }
}

}  // namespace
}  // namespace flowrun::block
