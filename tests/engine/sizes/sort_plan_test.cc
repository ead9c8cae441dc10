#include "engine/sizes/sort_plan.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/sizes/sorted_row.h"

namespace flowrun::sizes {
namespace {

sort_request request(uint64_t num_bytes, uint64_t memory, uint32_t row_bytes = 8) {
  sort_request r;
  r.known = true;
  r.num_bytes = num_bytes;
  r.rows = num_bytes / row_bytes;
  r.row_bytes = row_bytes;
  r.indexed = row_bytes > 16;
  r.create_bytes = memory;
  r.merge_bytes = memory;
  return r;
}

TEST(SortPlan, TheExampleOfTheHeader) {
  const sort_plan p = plan_sort(request(4 * GiB, 512 * MiB));
  EXPECT_EQ(p.run_bytes, 248 * MiB / 8);  // of half of what 16 write buffers leave
  EXPECT_EQ(p.runs, 133u);
  EXPECT_EQ(p.creator.block_bytes, MiB);
  EXPECT_EQ(p.merger.fan_in, 384u - 16 - 2);
  EXPECT_EQ(p.passes, 1u);
  EXPECT_EQ(p.fan_in, 133u);
  EXPECT_EQ(p.written_bytes, 4 * GiB);
  EXPECT_EQ(p.read_bytes, 4 * GiB);
}

TEST(SortPlan, CompressedRunsTakeABufferMore) {
  sort_request r = request(4 * GiB, 512 * MiB);
  r.compressed = true;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.run_bytes, (248 * MiB - 512 * KiB) / 8);
  EXPECT_EQ(p.creator.write_buffers, 16u);
  EXPECT_EQ(p.merger.fan_in, plan_sort(request(4 * GiB, 512 * MiB)).merger.fan_in);
  EXPECT_EQ(p.written_bytes, 4 * GiB);  // before compression
  r.long_runs = true;
  EXPECT_EQ(plan_sort(r).run_bytes, 2 * ((512 - 17) * MiB / 16 * 15));
}

TEST(SortPlan, HalvesMayBeSplitWhereOneMergeTakesTheirPieces) {
  sort_request r = request(4 * GiB, 512 * MiB);
  r.dedups = true;
  EXPECT_FALSE(plan_sort(r).creator.splits_halves);
  EXPECT_EQ(plan_sort(r).runs, 17u);
  r.unique = true;
  EXPECT_FALSE(plan_sort(r).creator.splits_halves);  // one thread sorts no pieces
  r.threads = 2;
  EXPECT_TRUE(plan_sort(r).creator.splits_halves);
  EXPECT_EQ(plan_sort(r).creator.runs_per_half, 8u);
  EXPECT_EQ(plan_sort(r).run_bytes, 31 * MiB);
  EXPECT_EQ(plan_sort(r).runs, 8u * 17);
  EXPECT_EQ(plan_sort(r).passes, 1u);
  r.row_bytes = 24;
  r.indexed = true;
  EXPECT_FALSE(plan_sort(r).creator.splits_halves);
  r = request(40 * GiB, 512 * MiB);
  r.dedups = r.unique = true;
  EXPECT_FALSE(plan_sort(r).creator.splits_halves);
}

TEST(SortPlan, WhatIsKeptIsNeverWritten) {
  sort_request r = request(4 * GiB, 512 * MiB);
  r.kept_bytes = 256 * MiB;
  const sort_plan p = plan_sort(r);
  // 124 runs of 31 MiB are written; eight more and the last 4 MiB stay.
  EXPECT_EQ(p.runs, 124u);
  EXPECT_EQ(p.kept_bytes, 252 * MiB);
  EXPECT_EQ(p.written_bytes, 4 * GiB - 252 * MiB);
  EXPECT_EQ(p.fan_in, 133u);
  r.kept_bytes = 100 * MiB;
  EXPECT_EQ(plan_sort(r).kept_bytes, 97 * MiB);
  EXPECT_EQ(plan_sort(r).written_bytes, 4 * GiB - 97 * MiB);
  r.kept_bytes = MiB;  // too little for the last run
  EXPECT_EQ(plan_sort(r).kept_bytes, 0u);
  EXPECT_EQ(plan_sort(r).runs, 133u);
}

TEST(SortPlan, SmallInputStaysInMemory) {
  sort_request r = request(100 * MiB, 512 * MiB);
  r.kept_bytes = 256 * MiB;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.runs, 0u);
  EXPECT_EQ(p.passes, 0u);
  EXPECT_EQ(p.written_bytes, 0u);
  r.kept_bytes = 0;  // nothing may stay: all is read back
  EXPECT_EQ(plan_sort(r).runs, 4u);
  EXPECT_EQ(plan_sort(r).written_bytes, 100 * MiB);
}

TEST(SortPlan, WideRowsPayForTheirIndex) {
  // 8 MiB of write buffers, two halves of 28 MiB; 48 + 16 bytes of index: three quarters of a half are rows.
  EXPECT_EQ(plan_sort(request(GiB, 64 * MiB, 48)).run_bytes, 21 * MiB);
  EXPECT_EQ(plan_sort(request(GiB, 64 * MiB, 16)).run_bytes, 28 * MiB);
  EXPECT_EQ(plan_sort(request(GiB, 64 * MiB, 4)).run_bytes, 14 * MiB);  // widened to words of eight bytes
  EXPECT_EQ(bytes_to_sort(10, 480, 48, true), 640u);
  EXPECT_EQ(bytes_to_sort(10, 160, 16, false), 160u);
  EXPECT_EQ(bytes_to_sort(10, 50, 5, false), 80u);
}

TEST(SortPlan, SeveralPassesWhenTheFanInIsTooSmall) {
  // 1 MiB of memory: blocks of 16 KiB, eight of them to write, runs of 448 KiB; 48 blocks to merge, 12 of them ahead.
  const sort_plan p = plan_sort(request(GiB, MiB));
  EXPECT_EQ(p.runs, 2341u);
  EXPECT_EQ(p.creator.block_bytes, 16 * KiB);
  EXPECT_EQ(p.merger.fan_in, 34u);
  EXPECT_EQ(p.passes, 3u);  // 2341, 69, 3
  EXPECT_EQ(p.fan_in, 34u);
  // All runs are merged once, and then 37 of the 69 that result, so that 34 are left.
  EXPECT_EQ(p.written_bytes, GiB + uint64_t{2341 + 37 * 34} * 448 * KiB);
}

TEST(SortPlan, BlocksArePowersOfTwoInRange) {
  for (uint64_t memory = 256 * KiB; memory < 8 * GiB; memory += memory / 3) {
    for (uint64_t num_bytes : {MiB, 100 * MiB, 50 * GiB}) {
      const sort_plan p = plan_sort(request(num_bytes, memory));
      EXPECT_EQ(p.creator.block_bytes & (p.creator.block_bytes - 1), 0u);
      EXPECT_GE(p.creator.block_bytes, 16 * KiB);
      EXPECT_LE(p.creator.block_bytes, MiB);
      EXPECT_GE(p.merger.fan_in, 2u);
      EXPECT_LE(p.fan_in, p.merger.fan_in);
    }
  }
}

TEST(SortPlan, BlockSizeGiven) {
  sort_request r = request(MiB, 64 * KiB);
  r.block_bytes = 4 * KiB;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.creator.block_bytes, 4 * KiB);
  EXPECT_EQ(p.merger.fan_in, 7u);
}

TEST(SortPlan, UnknownSizeAssumes64Runs) {
  sort_request r = request(0, 512 * MiB);
  r.known = false;
  r.kept_bytes = 256 * MiB;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.creator.block_bytes, MiB);
  EXPECT_EQ(p.passes, 1u);
  EXPECT_EQ(p.written_bytes, 0u);
}

TEST(SortPlan, ALimitBoundsWhatRunsWrite) {
  sort_request r = request(4 * GiB, 512 * MiB);
  r.kept_bytes = 256 * MiB;
  r.limit_rows = 10;
  EXPECT_EQ(plan_sort(r).written_bytes, 16 * 10 * 8u);  // each run writes its ten smallest
  r.kept_bytes = 0;
  EXPECT_EQ(plan_sort(r).written_bytes, 17 * 10 * 8u);
  r.limit_rows = 1u << 30;  // more than a run holds
  EXPECT_EQ(plan_sort(r).written_bytes, 4 * GiB);
}

TEST(SortPlan, LongRunsAreFourTimesAsLong) {
  sort_request r = request(4 * GiB, 512 * MiB);
  r.long_runs = true;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.run_bytes, 930 * MiB);  // twice 15/16 of both halves of 248 MiB
  // The first is of 799 MiB. When the input ends, 3631 MiB are written, the fifth run has just begun, and most of the
  // 465 MiB that are left belong to it; the others are a sixth.
  EXPECT_EQ(p.runs, 6u);
  EXPECT_EQ(p.fan_in, 6u);
  EXPECT_EQ(p.passes, 1u);
  EXPECT_EQ(p.written_bytes, 4 * GiB);
  r.kept_bytes = 256 * MiB;
  EXPECT_EQ(plan_sort(r).kept_bytes, 256 * MiB);
  EXPECT_EQ(plan_sort(r).written_bytes, 4 * GiB - 256 * MiB);
  r.kept_bytes = 512 * MiB;  // more than is left at the end
  EXPECT_EQ(plan_sort(r).kept_bytes, 465 * MiB);
  EXPECT_EQ(plan_sort(r).runs, 5u);
  EXPECT_EQ(plan_sort(r).fan_in, 6u);
}

TEST(SortPlan, LongRunsOfLittleInput) {
  sort_request r = request(100 * MiB, 512 * MiB);
  r.long_runs = true;
  EXPECT_EQ(plan_sort(r).runs, 1u);
  EXPECT_EQ(plan_sort(r).written_bytes, 100 * MiB);
  r.kept_bytes = 60 * MiB;
  EXPECT_EQ(plan_sort(r).runs, 1u);
  EXPECT_EQ(plan_sort(r).written_bytes, 40 * MiB);
  r.kept_bytes = 100 * MiB;
  EXPECT_EQ(plan_sort(r).runs, 0u);
  EXPECT_EQ(plan_sort(r).passes, 0u);
  r.num_bytes = r.rows = 0;
  EXPECT_EQ(plan_sort(r).runs, 0u);
}

TEST(SortPlan, LongRunsNeedFewerPasses) {
  sort_request r = request(GiB, MiB);
  const sort_plan halves = plan_sort(r);
  r.long_runs = true;
  const sort_plan p = plan_sort(r);
  EXPECT_NEAR(static_cast<double>(p.runs), static_cast<double>(halves.runs) / 3.75, 2);
  EXPECT_LT(p.passes, halves.passes);
  EXPECT_LT(p.written_bytes, halves.written_bytes);
  r.limit_rows = 100;
  // 100 of the 107520 rows that fit: a run leaves a thousandth of the input to the next, and there are 1248 times as
  // many.
  EXPECT_EQ(plan_sort(r).runs, 3u);
  EXPECT_EQ(plan_sort(r).written_bytes, 3 * 800u);
  r.limit_rows = 107'000;  // nearly what fits: not thousands of runs, as with no limit
  EXPECT_LE(plan_sort(r).runs, p.runs);
}

TEST(SortPlan, EmptyInput) {
  const sort_plan p = plan_sort(request(0, MiB));
  EXPECT_EQ(p.passes, 0u);
  EXPECT_EQ(p.runs, 0u);
}

TEST(sort_plan, blocks_rise_with_the_memory) {
  const auto blocks = [](uint64_t memory) { return plan_sort(request(memory, memory)).creator.block_bytes; };
  EXPECT_EQ(blocks(0), 16 * KiB);
  EXPECT_EQ(blocks(MiB), 16 * KiB);
  EXPECT_EQ(blocks(10 * MiB), 128 * KiB);
  EXPECT_EQ(blocks(64 * MiB), MiB);
  EXPECT_EQ(blocks(64 * GiB), MiB);
}

TEST(sort_plan, blocks_shrink_rather_than_merge_twice) {
  // 64 MiB make runs of 28 MiB. 35 runs fit a merge with blocks of 1 MiB, 71 one of 512 KiB.
  EXPECT_EQ(plan_sort(request(30 * 28 * MiB, 64 * MiB)).creator.block_bytes, MiB);
  const sort_plan p = plan_sort(request(70 * 28 * MiB, 64 * MiB));
  EXPECT_EQ(p.creator.block_bytes, 512 * KiB);
  EXPECT_EQ(p.passes, 1u);
  // Blocks of less than 64 KiB would cost more than they save.
  EXPECT_GE(plan_sort(request(1024 * GiB, 64 * MiB)).creator.block_bytes, 64 * KiB);
}

TEST(sort_plan, many_disks_have_smaller_blocks_and_more_buffers) {
  sort_request r = request(512 * MiB, 64 * MiB);
  EXPECT_EQ(plan_sort(r).creator.write_buffers, 8u);
  r.num_disks = 8;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.creator.block_bytes, 256 * KiB);  // 16 buffers for each disk
  EXPECT_EQ(p.merger.num_buffers, 192u);
  EXPECT_EQ(p.creator.write_buffers, 32u);  // an eighth of the memory
  r.create_bytes = r.merge_bytes = GiB;
  EXPECT_EQ(plan_sort(r).creator.write_buffers, 48u);  // half the queue of each, and two
  r.disk_depth = 32;
  EXPECT_EQ(plan_sort(r).creator.write_buffers, 128u);
}

// Of unequal halves the smaller one decides: a merger that gets the least there is beside a creator that has much.
TEST(sort_plan, blocks_are_as_short_as_the_merger_needs) {
  for (const bool known : {false, true})
    for (uint64_t create = least_sort_memory(shortest_sort_block); create <= 4 * GiB; create += create / 5)
      for (uint64_t merge = least_sort_memory(shortest_sort_block); merge <= GiB; merge += merge / 3)
        for (const unsigned num_disks : {1U, 8U}) {
          sort_request r = request(100'000, create);
          r.known = known;
          r.merge_bytes = merge;
          r.num_disks = num_disks;
          EXPECT_TRUE(plan_sort(r).merger.fits) << create << ", " << merge;
        }
}

// 3,000 rows of 40,000 bytes in blocks of 64 KiB: the sort makes blocks of 256 KiB, of which the merger has 21.
TEST(sort_plan, long_rows_make_longer_blocks_and_a_smaller_fan_in) {
  sort_request r = request(3000 * 40'000, 12 * MiB, 40'000);
  r.merge_bytes = 7 * MiB;
  r.block_bytes = 64 * KiB;
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.creator.block_bytes, 256 * KiB);
  EXPECT_EQ(p.merger.block_bytes, 256 * KiB);
  EXPECT_EQ(p.merger.fan_in, 21U - 2 - 5);
  EXPECT_EQ(p.run_bytes, 144U * 40'000);  // whole rows in half of what 16 short buffers leave
  EXPECT_EQ(p.runs, 21U);
  EXPECT_EQ(p.passes, 2U);
  r.row_bytes = 100;
  r.rows = 30 * 40'000;
  EXPECT_EQ(plan_sort(r).creator.block_bytes, 64 * KiB);
  EXPECT_EQ(plan_sort(r).passes, 1U);
}

// What is handed over is certain; figures are made with the strings that are expected.
TEST(sort_plan, strings_lengthen_blocks_when_the_sort_sees_them) {
  sort_request r = request(3000 * 40'000, 12 * MiB, 40'000);
  r.merge_bytes = 7 * MiB;
  r.block_bytes = 64 * KiB;
  const sort_plan fixed = plan_sort(r);
  r.row_bytes = 24;  // with a reference to a string
  const sort_plan p = plan_sort(r);
  EXPECT_EQ(p.creator.block_bytes, 64 * KiB);
  EXPECT_EQ(p.merger.block_bytes, 64 * KiB);
  EXPECT_EQ(p.expected.block_bytes, 256 * KiB);
  EXPECT_EQ(p.passes, fixed.passes);
  EXPECT_EQ(p.runs, fixed.runs);
  r.known = false;
  EXPECT_EQ(plan_sort(r).expected.block_bytes, 64 * KiB);
}

}  // namespace
}  // namespace flowrun::sizes
