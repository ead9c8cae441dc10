#include "engine/sizes/batches_in_flight.h"

#include <gtest/gtest.h>

namespace flowrun::sizes {
namespace {

TEST(parked_bytes, are_divided_among_many_pipelines) {
  EXPECT_EQ(parked_bytes(1), 16 * MiB);
  EXPECT_EQ(parked_bytes(2), 12 * MiB);
  EXPECT_EQ(parked_bytes(4), 6 * MiB);
  EXPECT_EQ(parked_bytes(24), MiB);
}

TEST(longest_row, is_a_part_of_the_memory_or_what_any_job_can_bear) {
  struct {
    uint64_t memory_bytes, bounded_queues, longest;
  } table[] = {
      {64 * MiB, 0, 8 * MiB},    {64 * MiB, 1, 8 * MiB}, {64 * MiB, 2, 8 * MiB},   {64 * MiB, 3, 64 * MiB / 12},
      {64 * MiB, 8, 2 * MiB},    {GiB, 2, 128 * MiB},    {GiB, 16, 16 * MiB},      {2 * MiB, 0, MiB},
      {2 * MiB, 4, MiB},         {2 * MiB, 8, MiB},      {2 * MiB, 16, 512 * KiB}, {64 * MiB, 16, MiB},
      {16 * MiB, 32, 256 * KiB},
  };
  for (const auto& t : table)
    EXPECT_EQ(longest_row(t.memory_bytes, t.bounded_queues), t.longest) << t.memory_bytes << ' ' << t.bounded_queues;
}

TEST(longest_row, fits_the_least_memory_that_is_named_for_it) {
  for (const uint64_t queues : {0, 1, 2, 3, 8, 40})
    for (const uint64_t row : {KiB, 500 * KiB, MiB, MiB + 1, 3 * MiB, 100 * MiB}) {
      const uint64_t least = least_memory_for_row(row, queues);
      EXPECT_GE(longest_row(least, queues), row) << row << ' ' << queues;
      if (least > 0) {
        EXPECT_LT(longest_row(least - 1, queues), row) << row << ' ' << queues;
      }
    }
}

}  // namespace
}  // namespace flowrun::sizes
