// Theorem 1 of Asynchronous sorting, first half, for the real run creators: forming runs takes max(I/O, computation) *
// 1.05 plus what fills and empties the buffers, O(L M / (D B)).
#include "tests/simulation/run_formation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

#include "tests/simulation/merge_simulation.h"
#include "tests/support/sanitized.h"

namespace flowrun::simulation {
namespace {

constexpr uint64_t block_ns = 1'000'000;  // L
constexpr double allowed = 1.05;

class run_formation : public testing::TestWithParam<std::tuple<unsigned, bool>> {};

std::vector<uint64_t> random_keys(uint64_t num_rows) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(num_rows);
  for (uint64_t& key : keys) key = random() & 0xffffffff;
  return keys;
}

struct formation_case {
  unsigned num_disks = 1;
  bool wide = false;
  double compute_to_io = 1;
  io::service_order order = io::service_order::alternating;
};

constexpr uint64_t num_blocks = 4096;
constexpr uint64_t memory_blocks = 256;

// Time as a multiple of max(I/O, computation) once what fills and empties the buffers is taken off: half the memory is
// read before the first write, and as much is written after the last read.
double ratio_of(const formation_case& c) {
  const uint32_t block_bytes = c.wide ? 16384 : 4096;
  const uint32_t row_bytes = c.wide ? 272 : 8;
  const uint64_t per_block = rows_per_block(block_bytes, row_bytes);
  machine_options disks;
  disks.disks.assign(c.num_disks, io::uniform(block_bytes, block_ns));
  disks.queue_depth = 1;
  disks.order = c.order;
  simulated_machine machine(disks);
  formation_options options;
  options.settings = keyed_rows(row_bytes);
  options.block_bytes = block_bytes;
  options.memory_blocks = memory_blocks;
  options.read_buffers = 8 * c.num_disks;
  const disk_input input(machine, options.settings, block_bytes, random_keys(num_blocks * per_block));
  EXPECT_EQ(input.blocks().size(), num_blocks);
  const double io_ns = 2.0 * num_blocks * block_ns / c.num_disks;
  options.ns_per_row = io_ns * c.compute_to_io / static_cast<double>(num_blocks * per_block);
  formation_outcome outcome = simulate_run_formation(machine, options, input);
  EXPECT_EQ(outcome.runs.num_rows, num_blocks * per_block);
  EXPECT_GE(outcome.runs.runs.size(), 2 * num_blocks / memory_blocks);

  // And they are runs: a merge of them is sorted.
  merge_options merge;
  merge.settings = options.settings;
  merge.block_bytes = block_bytes;
  merge.read_blocks = memory_blocks;
  merge.write_buffers = 4 * c.num_disks;
  const merge_outcome merged = simulate_merge(machine, merge, std::move(outcome.runs));
  EXPECT_TRUE(merged.sorted);
  EXPECT_EQ(merged.num_rows, num_blocks * per_block);

  const double bound = std::max(io_ns, static_cast<double>(outcome.compute_ns));
  EXPECT_GE(static_cast<double>(outcome.total_ns + 1), bound) << "faster than possible";
  return (static_cast<double>(outcome.total_ns) - static_cast<double>(memory_blocks * block_ns) / c.num_disks) / bound;
}

TEST_P(run_formation, overlaps_computation_with_reading_and_writing) {
  const auto [num_disks, wide] = GetParam();
  for (const double compute_to_io : {0.5, 1.0, 2.0})
    EXPECT_LE(ratio_of({num_disks, wide, compute_to_io}), allowed) << compute_to_io;
}

std::string shape_label(const testing::TestParamInfo<std::tuple<unsigned, bool>>& info) {
  return "D" + std::to_string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_wide" : "_narrow");
}
const std::vector<unsigned> numbers_of_disks = sanitized ? std::vector{2U} : std::vector{1U, 2U, 4U, 8U};
INSTANTIATE_TEST_SUITE_P(disks, run_formation, testing::Combine(testing::ValuesIn(numbers_of_disks), testing::Bool()),
                         shape_label);

// Half a run buffer becomes ready for writing at once. If all of it goes before the next read, there is nothing to
// compute meanwhile.
TEST(run_formation_needs, reads_in_between_the_writes) {
  EXPECT_GT(ratio_of({.order = io::service_order::writes_first}), 1.3);
  EXPECT_GT(ratio_of({.order = io::service_order::arrival}), 1.15);
  EXPECT_LE(ratio_of({.order = io::service_order::alternating}), allowed);
}

}  // namespace
}  // namespace flowrun::simulation
