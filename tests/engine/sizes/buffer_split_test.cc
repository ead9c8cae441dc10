// How a merge's buffers are split, also where there are few.
#include "engine/sizes/buffer_split.h"

#include <gtest/gtest.h>

namespace flowrun::sizes {
namespace {

TEST(buffer_split, follows_the_papers) {
  EXPECT_EQ(split_read_buffers(141, 8), 16u + 37u);
  EXPECT_EQ(split_read_buffers(26, 8), 19u);
  EXPECT_EQ(split_read_buffers(8, 1), 3u);
}

TEST(buffer_split, never_more_than_there_are) {
  for (unsigned num_disks = 1; num_disks <= 64; ++num_disks) {
    uint64_t before = 0;
    for (uint64_t count = 0; count <= 600; ++count) {
      const uint64_t prefetch = split_read_buffers(count, num_disks);
      EXPECT_LE(prefetch, count);
      EXPECT_EQ(prefetch == 0, count == 0);
      EXPECT_GE(prefetch, before);
      before = prefetch;
    }
  }
}

TEST(buffer_split, unhindered_write_buffers) {
  const struct {
    unsigned num_disks, queue_depth;
    uint64_t buffers;
  } table[] = {{1, 1, 3}, {1, 2, 3}, {1, 8, 6}, {4, 1, 12}, {8, 4, 32}, {8, 8, 48}};
  for (const auto& row : table)
    EXPECT_EQ(unhindered_write_buffers(row.num_disks, row.queue_depth), row.buffers)
        << row.num_disks << " disks, depth " << row.queue_depth;
}

}  // namespace
}  // namespace flowrun::sizes
