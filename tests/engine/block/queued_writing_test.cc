// Queued writing: worked examples, unequal disks, and that a schedule can be carried out as it says.
#include "engine/block/queued_writing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::block {
namespace {

using disks = std::vector<uint32_t>;
using numbers = std::vector<uint64_t>;

TEST(queued_writing, worked_examples) {
  const io_schedule none = queued_writing(disks{}, 2, 3);
  EXPECT_TRUE(none.order.empty());
  EXPECT_EQ(none.num_steps, 0u);

  const io_schedule header = queued_writing(disks{2, 2, 0, 1, 0}, 3, 3);
  EXPECT_EQ(header.order, (numbers{0, 2, 1, 3, 4}));
  EXPECT_EQ(header.step, (numbers{0, 0, 1, 1, 1}));
  EXPECT_EQ(header.num_steps, 2u);

  const io_schedule one_buffer = queued_writing(disks{0, 1, 2}, 3, 1);
  EXPECT_EQ(one_buffer.order, (numbers{0, 1, 2}));
  EXPECT_EQ(one_buffer.step, (numbers{0, 1, 2}));
}

// Disk 1 takes three ticks a block: m = 2, so the third block waits for the buffer of the first, the fourth too.
TEST(queued_writing, disks_of_unequal_speed_by_hand) {
  const io_schedule schedule = queued_writing(disks{0, 1, 0, 1, 0}, numbers{1, 3}, 2);
  EXPECT_EQ(schedule.order, (numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(schedule.step, (numbers{0, 0, 1, 3, 3}));
  EXPECT_EQ(schedule.num_steps, 6u);
}

TEST(queued_writing, wrong_arguments_are_refused) {
  EXPECT_THROW(queued_writing(disks{0}, 1, 0), error);
  EXPECT_THROW(queued_writing(disks{1}, 1, 1), error);
  EXPECT_THROW(queued_writing(disks{0}, numbers{0}, 1), error);
}

// Carried out tick by tick: buffers suffice, no disk does two things at once, nothing is written twice or not at all.
TEST(queued_writing, schedules_can_be_carried_out) {
  std::mt19937 random(21);
  for (int round = 0; round < 300; ++round) {
    const auto num_disks = static_cast<unsigned>(1 + random() % 5);
    const uint64_t num_buffers = 1 + random() % 12;
    numbers ticks(num_disks);
    for (auto& each : ticks) each = 1 + random() % 4;
    disks arriving(random() % 150);
    for (auto& disk : arriving) disk = static_cast<uint32_t>(random() % num_disks);
    const io_schedule schedule = queued_writing(arriving, ticks, num_buffers);

    const uint64_t n = arriving.size();
    ASSERT_EQ(schedule.order.size(), n);
    ASSERT_TRUE(std::is_sorted(schedule.step.begin(), schedule.step.end()));
    numbers end(n, 0), free_at(num_disks, 0), start(n, 0);
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t block = schedule.order[i];
      ASSERT_LT(block, n);
      ASSERT_EQ(end[block], 0u);  // once only
      if (i > 0 && schedule.step[i] == schedule.step[i - 1]) {
        ASSERT_LT(schedule.order[i - 1], block);
      }
      const uint32_t disk = arriving[block];
      ASSERT_GE(schedule.step[i], free_at[disk]);
      start[block] = schedule.step[i];
      end[block] = free_at[disk] = schedule.step[i] + ticks[disk];
    }
    uint64_t last = 0;
    for (uint64_t block = 0; block < n; ++block) {
      last = std::max(last, end[block]);
      // All before it have had a buffer by its start; at most m - 1 of them may still have one.
      const auto held = std::count_if(end.begin(), end.begin() + static_cast<std::ptrdiff_t>(block),
                                      [&](uint64_t earlier) { return earlier > start[block]; });
      ASSERT_LT(static_cast<uint64_t>(held), num_buffers);
    }
    ASSERT_EQ(schedule.num_steps, last);
  }
}

TEST(ticks_of_weights, are_in_proportion_to_the_time_a_block_takes) {
  EXPECT_EQ(ticks_of_weights(std::vector<double>{80, 80, 80}), (numbers{1, 1, 1}));
  EXPECT_EQ(ticks_of_weights(std::vector<double>{100, 100, 50, 75}), (numbers{1000, 1000, 2000, 1333}));
  EXPECT_EQ(ticks_of_weights(std::vector<double>{2, 0, 1}), (numbers{1000, 2000, 2000}));
  EXPECT_EQ(ticks_of_weights(std::vector<double>{1e300, 1e-300}), (numbers{1000, 1'000'000'000}));
  EXPECT_THROW(ticks_of_weights(std::vector<double>{0, 0}), error);
  EXPECT_THROW(ticks_of_weights(std::vector<double>{1, -1}), error);
}

}  // namespace
}  // namespace flowrun::block
