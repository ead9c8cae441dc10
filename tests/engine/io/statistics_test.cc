#include "engine/io/statistics.h"

#include <gtest/gtest.h>

namespace flowrun::io {
namespace {

TEST(disk_statistics, keeps_reads_and_writes_apart) {
  disk_statistics disk("/scratch");
  disk.begin(direction::read, 1000);
  disk.end(direction::read, 1000, 1500, 4096);
  disk.begin(direction::write, 2000);
  disk.end(direction::write, 2000, 2100, -5);
  disk.add_wait(direction::read, 70);
  const disk_snapshot s = disk.snapshot();
  EXPECT_EQ(s.name, "/scratch");
  EXPECT_EQ(s.reads.num_operations, 1U);
  EXPECT_EQ(s.reads.num_bytes, 4096U);
  EXPECT_EQ(s.reads.service_ns, 500U);
  EXPECT_EQ(s.reads.num_errors, 0U);
  EXPECT_EQ(s.reads.wait_ns, 70U);
  EXPECT_EQ(s.writes.num_operations, 1U);
  EXPECT_EQ(s.writes.num_bytes, 0U);
  EXPECT_EQ(s.writes.num_errors, 1U);
  EXPECT_EQ(s.writes.wait_ns, 0U);
}

TEST(disk_statistics, busy_time_counts_overlap_once) {
  disk_statistics disk("d");
  disk.begin(direction::read, 100);
  disk.begin(direction::read, 150);
  disk.end(direction::read, 100, 200, 1);
  disk.begin(direction::write, 210);
  disk.end(direction::read, 150, 250, 1);
  disk.end(direction::write, 210, 300, 1);
  const disk_snapshot s = disk.snapshot();
  EXPECT_EQ(s.reads.busy_ns, 150U);
  EXPECT_EQ(s.reads.service_ns, 200U);
  EXPECT_EQ(s.writes.busy_ns, 90U);
  EXPECT_EQ(s.busy_ns, 200U);
  EXPECT_EQ(s.reads.in_flight, 0U);
}

TEST(disk_statistics, sorts_latencies_into_buckets) {
  disk_statistics disk("d");
  const uint64_t first = transfer_statistics::latency_bound_ns(0);
  for (const uint64_t ns : {first - 1, first, 2 * first - 1, uint64_t{1} << 60}) {
    disk.begin(direction::read, 0);
    disk.end(direction::read, 0, ns, 1);
  }
  const disk_snapshot s = disk.snapshot();
  EXPECT_EQ(s.reads.latency[0], 1U);
  EXPECT_EQ(s.reads.latency[1], 2U);
  EXPECT_EQ(s.reads.latency[transfer_statistics::num_buckets - 1], 1U);
}

}  // namespace
}  // namespace flowrun::io
