// What the least memory of a sort's halves is enough for.
#include "engine/sizes/sort_memory.h"

#include <gtest/gtest.h>

namespace flowrun::sizes {
namespace {

TEST(merger_sizes, fit_and_leave_room_to_read_ahead) {
  for (const uint64_t block : {4 * KiB, 64 * KiB, MiB}) {
    for (uint64_t memory = least_sort_memory(block); memory <= 64 * GiB; memory = memory * 3 + 1) {
      const merger_sizes m = divide_merger({.memory_bytes = memory, .block_bytes = block});
      EXPECT_TRUE(m.fits);
      EXPECT_GE(m.fan_in, 2U);
      EXPECT_GE(m.num_buffers, m.fan_in + m.lookahead + 2);
      EXPECT_LE(m.num_buffers * block + 3 * m.slice_bytes * 2, memory + 64 * KiB) << memory;
    }
    EXPECT_FALSE(divide_merger({.memory_bytes = block * 4, .block_bytes = block}).fits);
  }
}

TEST(merger_sizes, fit_with_the_least_memory_that_is_named_and_not_with_less) {
  for (const unsigned num_disks : {1U, 4U, 64U})
    for (const bool compressed : {false, true})
      for (uint64_t block = 4 * KiB; block <= 64 * MiB; block *= 2) {
        half_budget b{.memory_bytes = least_merge_memory(block),
                      .block_bytes = block,
                      .num_disks = num_disks,
                      .threads = 3,
                      .compressed = compressed};
        EXPECT_TRUE(divide_merger(b).fits);
        b.memory_bytes -= 4;  // a quarter is rounded down
        EXPECT_FALSE(divide_merger(b).fits);
      }
}

TEST(creator_sizes, make_no_block_longer_than_the_merger_can_read) {
  for (uint64_t create = 384 * KiB; create < GiB; create = create * 2 + 4096)
    for (uint64_t merge = 384 * KiB; merge < GiB; merge = merge * 3 + 4096) {
      const creator_sizes c = divide_creator({.memory_bytes = create, .block_bytes = shortest_sort_block}, merge);
      EXPECT_TRUE(divide_merger({.memory_bytes = merge, .block_bytes = c.longest_block}).fits)
          << create << " " << merge;
      EXPECT_LE(c.longest_block * 8, create);
      EXPECT_LE(2 * c.half_bytes + c.write_buffers * shortest_sort_block, create);
    }
}

TEST(bytes_in_blocks, bound_whole_blocks_with_whole_rows) {
  EXPECT_EQ(bytes_in_blocks(0, 8, 5, 64 * KiB), 0U);
  EXPECT_EQ(bytes_in_blocks(8, 8, 1, 64 * KiB), 64 * KiB);
  // Two rows to a block, one, and one to a longer block; each sequence may end with a block that is not full.
  EXPECT_EQ(bytes_in_blocks(1000 * 30'000, 30'000, 3, 64 * KiB), 503 * 64 * KiB);
  EXPECT_EQ(bytes_in_blocks(1000 * 40'000, 40'000, 3, 64 * KiB), 1003 * 64 * KiB);
  EXPECT_EQ(bytes_in_blocks(1000 * 70'000, 70'000, 3, 64 * KiB), 1003 * 128 * KiB);
}

}  // namespace
}  // namespace flowrun::sizes
