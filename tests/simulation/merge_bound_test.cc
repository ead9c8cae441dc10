// Theorem 4 and corollary 8 of Asynchronous sorting, for the real prefetcher, mergers and writer: merging takes
//
//   max(I/O, computation) * 1.05 + L (k/D + 2)
//
// where I/O = (blocks read + blocks written) L / D, for every input. The read buffers are those of the theorem and the
// corollary: k blocks being merged, k + 3D to overlap, m = 10 D for the prefetch schedule; the disks serve one block at
// a time, wherever it lies, in time L.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/sizes/buffer_split.h"
#include "tests/simulation/merge_simulation.h"
#include "tests/support/sanitized.h"

namespace flowrun::simulation {
namespace {

constexpr uint64_t block_ns = 1'000'000;  // L
constexpr double allowed = 1.05;
constexpr uint64_t start_up_steps = 2;

enum class run_shape { random, adversarial, late_adversarial };

struct merge_case {
  run_shape shape = run_shape::random;
  bool wide = false;
  unsigned num_disks = 1;
  double compute_to_io = 1;  // 0.5: I/O-bound, 1: balanced, 2: compute-bound
  unsigned num_runs = 32;
  uint64_t blocks_per_run = 64;
  uint64_t read_blocks = 0;    // 0: as in the theorem
  unsigned write_buffers = 0;  // 0: sizes::unhindered_write_buffers
  unsigned queue_depth = 1;
  io::service_order order = io::service_order::alternating;

  uint64_t read_buffers() const { return read_blocks > 0 ? read_blocks : 2 * num_runs + 13 * num_disks; }
  unsigned output_buffers() const {
    return write_buffers > 0 ? write_buffers
                             : static_cast<unsigned>(sizes::unhindered_write_buffers(num_disks, queue_depth));
  }
};

std::ostream& operator<<(std::ostream& out, const merge_case& c) {
  const char* shapes[] = {"random", "adversarial", "late_adversarial"};
  return out << shapes[static_cast<int>(c.shape)] << (c.wide ? ", wide" : ", narrow") << ", D=" << c.num_disks
             << ", k=" << c.num_runs << ", computation " << c.compute_to_io << " x I/O, " << c.read_buffers() << " + "
             << c.output_buffers() << " buffers, depth " << c.queue_depth;
}

struct measured {
  merge_outcome outcome;
  double io_ns = 0;
  double bound_ns() const { return std::max(io_ns, static_cast<double>(outcome.compute_ns)); }
  double ratio() const { return static_cast<double>(outcome.total_ns) / bound_ns(); }
};

double io_ns_of(const merge_case& c) {
  return 2.0 * static_cast<double>(c.num_runs * c.blocks_per_run * block_ns) / c.num_disks;
}

merge_outcome simulate(const merge_case& c) {
  // B rows fill a block exactly.
  const uint32_t block_bytes = c.wide ? 16384 : 4096;
  const uint32_t row_bytes = c.wide ? 272 : 8;
  const uint64_t per_block = rows_per_block(block_bytes, row_bytes);
  EXPECT_EQ(per_block * row_bytes + block::block_header_bytes, block_bytes);

  machine_options disks;
  disks.disks.assign(c.num_disks, io::uniform(block_bytes, block_ns));
  disks.queue_depth = c.queue_depth;
  disks.order = c.order;
  simulated_machine machine(disks);
  std::vector<std::vector<uint64_t>> runs;
  for (unsigned r = 0; r < c.num_runs; ++r) {
    runs.push_back(c.shape == run_shape::random        ? random_run(c.blocks_per_run * per_block, r)
                   : c.shape == run_shape::adversarial ? adversarial_run(c.blocks_per_run, per_block)
                                                       : late_adversarial_run(c.blocks_per_run, per_block));
  }
  merge_options options;
  options.settings = keyed_rows(row_bytes);
  options.block_bytes = block_bytes;
  options.read_blocks = c.read_buffers();
  options.write_buffers = c.output_buffers();
  const uint64_t num_blocks = c.num_runs * c.blocks_per_run;
  options.ns_per_row = io_ns_of(c) * c.compute_to_io / static_cast<double>(num_blocks * per_block);
  const merge_outcome outcome =
      simulate_merge(machine, options, write_runs(machine, options.settings, block_bytes, runs));
  EXPECT_TRUE(outcome.sorted);
  EXPECT_EQ(outcome.num_rows, num_blocks * per_block);
  EXPECT_EQ(outcome.num_blocks_read, num_blocks);
  EXPECT_EQ(outcome.num_blocks_written, num_blocks);
  return outcome;
}

// One merge of all runs.
measured merge(const merge_case& c) {
  const measured result{simulate(c), io_ns_of(c)};
  EXPECT_EQ(result.outcome.disk_busy_ns, 2 * c.num_runs * c.blocks_per_run * block_ns)
      << "each block once, and only once";
  EXPECT_GE(static_cast<double>(result.outcome.total_ns + 1), result.bound_ns()) << "faster than possible";
  return result;
}

void expect_bound(const merge_case& c) {
  SCOPED_TRACE(testing::PrintToString(c));
  const measured m = merge(c);
  const double start_up =
      static_cast<double>(block_ns) * (static_cast<double>(c.num_runs) / c.num_disks + start_up_steps);
  EXPECT_LE(static_cast<double>(m.outcome.total_ns), allowed * m.bound_ns() + start_up)
      << "took " << m.ratio() << " of the bound; waited " << m.outcome.read_wait_ns / block_ns << " L for input and "
      << m.outcome.write_wait_ns / block_ns << " L for output";
}

std::string disks_label(const testing::TestParamInfo<unsigned>& info) { return "D" + std::to_string(info.param); }

class merge_bound : public testing::TestWithParam<unsigned> {};

TEST_P(merge_bound, holds_for_random_runs) {
  for (const bool wide : {false, true})
    for (const double ratio : {0.5, 1.0, 2.0})
      expect_bound({.wide = wide, .num_disks = GetParam(), .compute_to_io = ratio});
}

TEST_P(merge_bound, holds_for_the_adversarial_runs_of_section_2_3) {
  for (const bool wide : {false, true})
    for (const double ratio : {0.5, 1.0, 2.0})
      expect_bound({.shape = run_shape::adversarial, .wide = wide, .num_disks = GetParam(), .compute_to_io = ratio});
}

TEST_P(merge_bound, holds_for_runs_that_want_k_blocks_at_once) {
  for (const bool wide : {false, true})
    for (const double ratio : {0.5, 1.0, 2.0})
      expect_bound(
          {.shape = run_shape::late_adversarial, .wide = wide, .num_disks = GetParam(), .compute_to_io = ratio});
}

TEST_P(merge_bound, holds_for_many_runs) {
  for (const run_shape shape : {run_shape::random, run_shape::adversarial, run_shape::late_adversarial})
    expect_bound({.shape = shape, .num_disks = GetParam(), .num_runs = 128, .blocks_per_run = 32});
}

// Deeper queues at the device put more reads before a write, which more write buffers make good.
TEST_P(merge_bound, holds_for_deep_queues_with_enough_write_buffers) {
  for (const unsigned depth : {2U, 4U, 8U})
    for (const run_shape shape : {run_shape::random, run_shape::late_adversarial})
      expect_bound({.shape = shape, .num_disks = GetParam(), .queue_depth = depth});
}

// The bound is arithmetic: a sanitizer sees the same code with any number of disks.
const std::vector<unsigned> numbers_of_disks = sanitized ? std::vector{2U} : std::vector{1U, 2U, 4U, 8U};
INSTANTIATE_TEST_SUITE_P(disks, merge_bound, testing::ValuesIn(numbers_of_disks), disks_label);

TEST_P(merge_bound, holds_when_writes_go_first) {
  for (const unsigned depth : {1U, 8U})
    for (const run_shape shape : {run_shape::random, run_shape::late_adversarial})
      expect_bound(
          {.shape = shape, .num_disks = GetParam(), .queue_depth = depth, .order = io::service_order::writes_first});
}

// With half the buffers that one merge of all runs would want, neighbours are merged first. No computation is charged
// there, so all of it is I/O: the disks should hardly ever rest.
TEST_P(merge_bound, intermediate_merges_keep_the_disks_busy) {
  for (const bool wide : {false, true}) {
    for (const unsigned depth : {1U, 8U}) {
      merge_case c{.wide = wide,
                   .num_disks = GetParam(),
                   .compute_to_io = 0.01,
                   .num_runs = 80,
                   .blocks_per_run = 32,
                   .queue_depth = depth};
      c.read_blocks = 64;
      const merge_outcome outcome = simulate(c);
      const uint64_t num_blocks = c.num_runs * c.blocks_per_run;
      EXPECT_GT(outcome.disk_busy_ns, 5 * num_blocks * block_ns / 2) << "there was an intermediate merge";
      const double busy =
          static_cast<double>(outcome.disk_busy_ns) / static_cast<double>(outcome.total_ns) / c.num_disks;
      EXPECT_GE(busy, c.num_disks < 8 ? 0.95 : 0.85) << c;  // with 8 disks, 10 blocks a disk can't be read ahead
    }
  }
}

// 5D buffers to read ahead with, beside those of 158 runs: the schedule must count on those 5D only.
TEST(merge_with_little_room, schedules_what_is_free) {
  merge_case c{.num_disks = 8, .compute_to_io = 0.5, .num_runs = 158, .blocks_per_run = 40};
  c.read_blocks = c.num_runs + 5 * c.num_disks;
  EXPECT_LT(merge(c).ratio(), 1.1);
}

// What the bound needs: without it, the same merges are slower, so the tests above can fail.
TEST(merge_bound_needs, an_overlap_buffer_of_k_blocks) {
  merge_case c{.shape = run_shape::late_adversarial, .num_disks = 2, .num_runs = 64};
  c.read_blocks = c.num_runs + 13 * c.num_disks;
  EXPECT_GT(merge(c).ratio(), 1.2);
  c.read_blocks = 0;
  EXPECT_LT(merge(c).ratio(), 1.05);
}

TEST(merge_bound_needs, write_buffers_for_the_depth_of_the_queues) {
  merge_case c{.num_disks = 2, .write_buffers = 4, .queue_depth = 8};
  EXPECT_GT(merge(c).ratio(), 1.15);
  c.queue_depth = 1;
  EXPECT_LT(merge(c).ratio(), 1.05);
}

TEST(merge_bound_needs, writes_that_do_not_wait_for_all_reads) {
  merge_case c{.shape = run_shape::late_adversarial, .num_disks = 2, .order = io::service_order::arrival};
  EXPECT_GT(merge(c).ratio(), 1.15);
  c.order = io::service_order::alternating;
  EXPECT_LT(merge(c).ratio(), 1.05);
}

}  // namespace
}  // namespace flowrun::simulation
