// What the least memory of a sort's halves is enough for.
#include "engine/sizes/sort_memory.h"

#include <gtest/gtest.h>

#include "engine/sizes/sorted_row.h"

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
    EXPECT_FALSE(divide_merger({.memory_bytes = block * 3 - 1, .block_bytes = block}).fits);
  }
}

constexpr unsigned numbers_of_halves[] = {1, 4, 3000};

TEST(uncounted_of, halves_is_no_more_together_than_two_have) {
  for (const unsigned halves : {3U, 7U, 3000U}) {
    EXPECT_LE(halves * uncounted_of(halves).first_keys, 2 * uncounted_bytes().first_keys);
    EXPECT_LE(halves * uncounted_of(halves).long_buffers, 2 * uncounted_bytes().long_buffers);
  }
  for (const unsigned halves : {0U, 1U, 2U}) {
    EXPECT_EQ(uncounted_of(halves).first_keys, uncounted_bytes().first_keys);
    EXPECT_EQ(uncounted_of(halves).long_buffers, uncounted_bytes().long_buffers);
  }
}

TEST(merger_sizes, fit_with_the_least_memory_that_is_named_and_not_with_less) {
  for (const unsigned halves : numbers_of_halves)
    for (const unsigned num_disks : {1U, 4U, 64U})
      for (const bool compressed : {false, true})
        for (uint64_t block = 4 * KiB; block <= 64 * MiB; block *= 2) {
          half_budget b{.block_bytes = block, .num_disks = num_disks, .threads = 3, .compressed = compressed};
          b.uncounted = uncounted_of(halves);
          b.memory_bytes = least_merge_memory(b);
          EXPECT_TRUE(divide_merger(b).fits);
          b.memory_bytes -= 1;
          EXPECT_FALSE(divide_merger(b).fits);
        }
}

// Blocks of the runs, of writing and of coding, and rows that are held, together take no more than there is.
TEST(merger_sizes, of_the_longest_rows_have_a_buffer_for_each_run) {
  for (const unsigned halves : numbers_of_halves)
    for (const bool compressed : {false, true})
      for (const bool folds : {false, true})
        for (uint64_t block = MiB; block <= 64 * MiB; block += 3 * MiB) {
          half_budget b{.block_bytes = block, .threads = 3, .compressed = compressed, .folds = folds};
          b.uncounted = uncounted_of(halves);
          for (b.memory_bytes = least_merge_memory(b); b.memory_bytes < 20 * block; b.memory_bytes += block / 3) {
            const merger_sizes m = divide_merger(b);
            EXPECT_TRUE(m.fits);
            EXPECT_GE(m.fan_in, 2U);
            EXPECT_GE(m.num_buffers, m.fan_in + m.lookahead);
            // Those that are read ahead while blocks are decoded are among the buffers, but for the longest.
            const uint64_t coding = !compressed ? 0 : m.lookahead > 0 ? 1 : 2;
            const uint64_t slices = m.lookahead > 0 ? 4 * m.slice_bytes : 0;
            EXPECT_LE((m.num_buffers + 2 + coding + (folds ? 2 : 0)) * block + slices,
                      b.memory_bytes + b.uncounted.long_buffers)
                << block << " " << b.memory_bytes;
          }
        }
}

// The longest blocks that run creation may make can be merged, and two rows of them fit its memory.
TEST(longest_merged_block, is_what_the_least_memory_says) {
  for (const unsigned halves : numbers_of_halves)
    for (const bool compressed : {false, true})
      for (const bool folds : {false, true})
        for (uint64_t memory = MiB; memory < GiB; memory += memory / 3 + 4096) {
          half_budget b{.memory_bytes = memory, .compressed = compressed, .folds = folds};
          b.uncounted = uncounted_of(halves);
          b.block_bytes = longest_merged_block(b);
          EXPECT_LE(least_merge_memory(b), memory);
          EXPECT_GE(longest_rows_memory(b), 2 * b.block_bytes);
          EXPECT_LE(longest_rows_memory(b) + (2 + compressed + 2 * folds) * b.block_bytes,
                    memory + b.uncounted.long_buffers);
          ++b.block_bytes;
          EXPECT_GT(least_merge_memory(b), memory);
        }
}

TEST(creator_sizes, make_no_block_longer_than_the_merger_can_read) {
  for (uint64_t create = 384 * KiB; create < GiB; create = create * 2 + 4096)
    for (uint64_t merge = 384 * KiB; merge < GiB; merge = merge * 3 + 4096) {
      const creator_sizes c = divide_creator({.memory_bytes = create, .block_bytes = shortest_sort_block}, merge);
      EXPECT_TRUE(divide_merger({.memory_bytes = merge, .block_bytes = c.longest_block}).fits)
          << create << " " << merge;
      EXPECT_LE(least_merge_memory({.block_bytes = c.longest_block}), create);
      EXPECT_LE(2 * c.half_bytes + c.write_buffers * shortest_sort_block, create);
    }
}

// What may stay in memory is the merger's where nothing does.
TEST(creator_sizes, make_longer_blocks_where_nothing_stays) {
  const half_budget budget{.memory_bytes = 56 * MiB, .block_bytes = MiB};
  const creator_sizes c = divide_creator(budget, 31 * MiB, 28 * MiB);
  EXPECT_GT(c.longest_block, 16 * MiB + 64 * KiB);
  EXPECT_EQ(c.longest_beside_kept, 31 * MiB / 3 / 4096 * 4096);
  EXPECT_TRUE(divide_merger({.memory_bytes = 59 * MiB, .block_bytes = c.longest_block}).fits);
  EXPECT_TRUE(divide_merger({.memory_bytes = 31 * MiB, .block_bytes = c.longest_beside_kept}).fits);
}

// As many rows of average length as a quarter of an eighth of the memory holds, at most 32; write buffers in an eighth
// of the memory.
TEST(creator_sizes, have_longer_blocks_for_long_rows) {
  const half_budget budget{.memory_bytes = 16 * MiB, .block_bytes = 64 * KiB};
  const creator_sizes usual = divide_creator(budget, 8 * MiB);
  EXPECT_EQ(usual.longest_block, 8 * MiB / 3 / 4096 * 4096);
  struct expected {
    uint64_t row_bytes, block_bytes, write_buffers, half_bytes;
  };
  const uint64_t half = usual.half_bytes;
  for (const expected& e :
       {expected{100, 64 * KiB, 16, half}, expected{2032, 64 * KiB, 16, half}, expected{2033, 128 * KiB, 16, half},
        expected{4096, 256 * KiB, 8, half}, expected{40'000, 256 * KiB, 8, half}, expected{262'080, 256 * KiB, 8, half},
        expected{262'081, 512 * KiB, 4, half}, expected{600'000, MiB, 2, half}}) {
    const creator_sizes c = creator_for_rows(usual, {e.row_bytes, e.row_bytes + index_entry_bytes}, budget);
    EXPECT_EQ(c.block_bytes, e.block_bytes) << e.row_bytes;
    EXPECT_EQ(c.write_buffers, e.write_buffers) << e.row_bytes;
    EXPECT_EQ(c.half_bytes, e.half_bytes) << e.row_bytes;
    EXPECT_EQ(c.longest_block, usual.longest_block);
  }
  EXPECT_EQ(creator_for_rows(usual, {MiB, 0}, budget).block_bytes, MiB + 64 * KiB);  // and no power of two
  EXPECT_EQ(creator_for_rows(usual, {2 * MiB - block_header_bytes, 0}, budget).block_bytes, 2 * MiB);
  EXPECT_GT(creator_for_rows(usual, {3 * MiB, 0}, budget).block_bytes, usual.longest_block);
  // A row that could be merged has blocks that can be, also where a power of two can't.
  const half_budget small{.memory_bytes = 3 * MiB, .block_bytes = 16 * KiB};
  const creator_sizes tight = divide_creator(small, 2816 * KiB);
  EXPECT_LT(tight.longest_block, MiB);
  EXPECT_EQ(creator_for_rows(tight, {650'000, 0}, small).block_bytes, 159u * 4096);
}

// The sort asks again, once it has rows, with what the planner handed it.
TEST(creator_sizes, stay_when_the_same_rows_ask_again) {
  for (uint64_t memory = 384 * KiB; memory < GiB; memory = memory * 2 + 4096)
    for (const bool compressed : {false, true})
      for (uint64_t row = 17; row + block_header_bytes <= memory / 8; row = row * 3 / 2 + 1) {
        const half_budget budget{.memory_bytes = memory, .block_bytes = shortest_sort_block, .compressed = compressed};
        const row_lengths rows{row, row + index_entry_bytes};
        const creator_sizes once = creator_for_rows(divide_creator(budget, memory), rows, budget);
        const creator_sizes again = creator_for_rows(once, rows, budget);
        EXPECT_EQ(once.block_bytes, again.block_bytes);
        EXPECT_EQ(once.write_buffers, again.write_buffers);
        EXPECT_EQ(once.half_bytes, again.half_bytes);
        EXPECT_GE(once.block_bytes, row + block_header_bytes);
        const uint64_t buffers = once.write_buffers + (compressed ? 1 : 0);
        const bool pays = once.write_buffers * uint64_t{once.block_bytes} > memory / 8;
        EXPECT_LE(2 * once.half_bytes + buffers * once.block_bytes,
                  memory + (pays ? 0 : uncounted_bytes().long_buffers));
      }
}

TEST(least_memory_for_row, is_enough_for_both_halves_and_not_named_for_short_rows) {
  EXPECT_LT(least_memory_for_row(4096), least_sort_memory(shortest_sort_block));
  for (uint64_t row = 1; row < 100 * MiB; row = row * 5 / 4 + 1) {
    const uint64_t memory = std::max(least_memory_for_row(row), least_sort_memory(shortest_sort_block));
    for (const bool compressed : {false, true}) {
      half_budget budget{
          .memory_bytes = memory, .block_bytes = shortest_sort_block, .threads = 3, .compressed = compressed};
      const creator_sizes c = creator_for_rows(divide_creator(budget, memory), {row, row + index_entry_bytes}, budget);
      EXPECT_LE(c.block_bytes, c.longest_block) << row;
      EXPECT_LE(c.least_memory, memory) << row;
      EXPECT_GE(c.half_bytes, row + index_entry_bytes) << row;
      budget.block_bytes = c.block_bytes;
      EXPECT_TRUE(divide_merger(budget).fits) << row;
    }
  }
}

}  // namespace
}  // namespace flowrun::sizes
