// Blocks that rows ask for, and what rows take in them.
#include "engine/sizes/block_length.h"

#include <gtest/gtest.h>

#include "engine/sizes/container_block.h"

namespace flowrun::sizes {
namespace {

TEST(block_for_row, is_a_power_of_two_with_room_for_the_header_and_little_longer_than_long_rows) {
  EXPECT_EQ(block_for_row(1, 64 * KiB), 64 * KiB);
  EXPECT_EQ(block_for_row(64 * KiB - 64, 64 * KiB), 64 * KiB);
  EXPECT_EQ(block_for_row(64 * KiB - 63, 64 * KiB), 128 * KiB);
  EXPECT_EQ(block_for_row(5000, 12 * KiB), 12 * KiB);  // asked for
  EXPECT_EQ(block_for_row(MiB - 64, 64 * KiB), MiB);
  EXPECT_EQ(block_for_row(MiB - 63, 64 * KiB), MiB + 64 * KiB);
  EXPECT_EQ(block_for_row(5 * MiB, 64 * KiB), 5 * MiB + 64 * KiB);
  EXPECT_GT(block_for_row(UINT64_MAX, 4096), uint64_t{1} << 61);
}

TEST(block_for_rows, has_many_rows_of_average_length_in_what_is_comfortable) {
  EXPECT_EQ(block_for_rows({100, 116}, 4096, MiB), 4096U);
  EXPECT_EQ(block_for_rows({200, 216}, 4096, MiB), 8192U);
  EXPECT_EQ(block_for_rows({40'000, 40'016}, 64 * KiB, 953 * KiB / 4), 256 * KiB);  // the example of the header
  EXPECT_EQ(block_for_rows({40'000, 40'016}, 64 * KiB, 4 * MiB), 2 * MiB);
  EXPECT_EQ(block_for_rows({500'000, 116}, 64 * KiB, 4 * MiB), 512 * KiB);  // one long row among short ones
  EXPECT_EQ(block_for_rows({100, UINT64_MAX}, 64 * KiB, 4 * MiB), 4 * MiB);
}

TEST(bytes_in_blocks, bound_whole_blocks_with_whole_rows) {
  EXPECT_EQ(bytes_in_blocks(0, 8, 5, 64 * KiB), 0U);
  EXPECT_EQ(bytes_in_blocks(8, 8, 1, 64 * KiB), 64 * KiB);
  // Two rows to a block, one, and one to a longer block; each sequence may end with a block that is not full.
  EXPECT_EQ(bytes_in_blocks(1000 * 30'000, 30'000, 3, 64 * KiB), 503 * 64 * KiB);
  EXPECT_EQ(bytes_in_blocks(1000 * 40'000, 40'000, 3, 64 * KiB), 1003 * 64 * KiB);
  EXPECT_EQ(bytes_in_blocks(1000 * 70'000, 70'000, 3, 64 * KiB), 1003 * 128 * KiB);
}

TEST(bytes_in_container, bound_blocks_of_the_chosen_length_and_longer_ones) {
  EXPECT_EQ(bytes_in_container(0, 8, 64 * KiB), 0U);
  EXPECT_EQ(bytes_in_container(64 * MiB, 8, 64 * KiB), 66 * MiB);
  EXPECT_EQ(bytes_in_container(1000 * 40'000, 40'000, 64 * KiB), 1000 * 64 * KiB + MiB);
  EXPECT_EQ(bytes_in_container(1000 * 70'000, 70'000, 64 * KiB), 1000 * 128 * KiB + MiB);
}

TEST(least_container_memory, has_room_for_all_buffers_of_a_queue_and_is_not_named_for_short_rows) {
  EXPECT_LT(least_container_memory(4096), 128 * KiB);
  for (uint64_t row = 1; row < 100 * MiB; row = row * 5 / 4 + 1) {
    const uint64_t memory = least_container_memory(row);
    EXPECT_LE((queue_write_buffers + queue_read_buffers) * uint64_t{container_block(row, choose_block(memory))},
              memory);
  }
}

}  // namespace
}  // namespace flowrun::sizes
