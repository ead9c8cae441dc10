#include "engine/io/disk_model.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace flowrun::io {
namespace {

constexpr uint64_t ms = 1'000'000;

// 1 byte a nanosecond up to 1,000, then half of that; seeks of 10 … 110 ns, 5 ns of latency.
disk_model toy(unsigned depth = 1) {
  disk_model model;
  model.name = "toy";
  model.zones = {{1000, 1e9}, {2000, 0.5e9}};
  model.capacity = 10'000;
  model.shortest_seek_ns = 10;
  model.longest_seek_ns = 110;
  model.latency_ns = 5;
  model.depth = depth;
  return model;
}

TEST(disk_model, transfer_time_follows_the_zones) {
  const disk_model model = toy();
  struct {
    uint64_t offset, num_bytes, ns;
  } const table[] = {{0, 100, 100},    {900, 100, 100},
                     {1000, 100, 200}, {900, 200, 300},  // 100 outside, 100 inside
                     {5000, 100, 200}, {0, 3000, 1000 + 4000}};
  for (const auto& row : table) EXPECT_EQ(model.transfer_ns(row.offset, row.num_bytes), row.ns) << row.offset;
}

TEST(disk_model, seek_time_follows_the_distance) {
  const disk_model model = toy();
  EXPECT_EQ(model.seek_ns(0), 0U);
  EXPECT_EQ(model.seek_ns(100), 20U);   // sqrt(1 %) = 0.1
  EXPECT_EQ(model.seek_ns(2500), 60U);  // sqrt(25 %) = 0.5
  EXPECT_EQ(model.seek_ns(10'000), 110U);
  EXPECT_EQ(model.seek_ns(99'999), 110U);
  EXPECT_EQ(model.positioning_ns(700, 700), 0U);
  EXPECT_EQ(model.positioning_ns(0, 2500), 65U);
  EXPECT_EQ(model.positioning_ns(2500, 0), 65U);
}

TEST(disk_model, one_after_the_other) {
  modelled_disk disk(toy());
  EXPECT_EQ(disk.serve(0, 0, 100), 100U);              // where the arm is
  EXPECT_EQ(disk.serve(0, 100, 100), 200U);            // goes on there: no seek
  EXPECT_EQ(disk.serve(0, 300, 100), 200 + 25 + 100);  // seek 10 + 100 * sqrt(1 %) = 20, latency 5
  EXPECT_EQ(disk.serve(1000, 400, 100), 1100U);        // idle in between
  EXPECT_EQ(disk.num_transfers(), 4U);
  EXPECT_EQ(disk.num_seeks(), 1U);
  EXPECT_EQ(disk.busy_ns(), 425U);
}

TEST(disk_model, depth_overlaps_positioning_with_transfers) {
  // Four transfers of 100 ns, each with 25 ns of positioning, all at once.
  const struct {
    unsigned depth;
    uint64_t end;
  } table[] = {{1, 500}, {2, 425}, {4, 425}};
  for (const auto& row : table) {
    disk_model model = toy(row.depth);
    model.shortest_seek_ns = model.longest_seek_ns = 20;
    modelled_disk disk(model);
    uint64_t end = 0;
    for (uint64_t i = 0; i < 4; ++i) end = disk.serve(0, 900 - 200 * i - 1, 100);
    EXPECT_EQ(end, row.end) << row.depth;
  }
}

TEST(disk_model, depth_bounds_the_overlap_of_latency) {
  disk_model model = uniform(1, 1);  // a byte a nanosecond
  model.latency_ns = 1000;
  model.latency_when_sequential = true;
  for (const unsigned depth : {1U, 2U, 8U}) {
    model.depth = depth;
    modelled_disk disk(model);
    uint64_t end = 0;
    for (uint64_t i = 0; i < 80; ++i) end = disk.serve(0, i * 10, 10);
    // Per round of `depth` transfers one latency, then their bytes; all but the last of a round wait for each other.
    EXPECT_GE(end, 80 / depth * 1000) << depth;
    EXPECT_LE(end, 80 / depth * 1000 + 80 * 10) << depth;
  }
}

TEST(disk_model, the_disk_of_the_paper) {
  const disk_model model = ibm_120gxp();
  const auto bandwidth = [&](uint64_t offset) {
    return 48e6 * 1e9 / static_cast<double>(model.transfer_ns(offset, 48'000'000));
  };
  EXPECT_NEAR(bandwidth(0), 48e6, 1e5);
  EXPECT_NEAR(bandwidth(79'000'000'000), 24e6, 1e5);
  EXPECT_NEAR(static_cast<double>(model.latency_ns), 4.17 * ms, 0.01 * ms);
  std::mt19937_64 random(1);
  double sum = 0;
  constexpr int num_seeks = 100'000;
  for (int i = 0; i < num_seeks; ++i) {
    const uint64_t from = random() % model.capacity;
    const uint64_t to = random() % model.capacity;
    sum += static_cast<double>(model.seek_ns(from < to ? to - from : from - to));
  }
  EXPECT_NEAR(sum / num_seeks, 8.5 * ms, 0.05 * ms);
  // Blocks of 2 MiB at random outer places use about three quarters of the bandwidth, pages of 4 KiB next to nothing.
  const double block = static_cast<double>(model.transfer_ns(0, 2 * MiB));
  EXPECT_NEAR(block / (block + 8.5 * ms + 4.2 * ms), 0.775, 0.01);
}

TEST(disk_model, a_uniform_disk_knows_no_places) {
  modelled_disk disk(uniform(16 * KiB, 2 * ms));
  EXPECT_EQ(disk.serve(0, 0, 16 * KiB), 2 * ms);
  EXPECT_EQ(disk.serve(0, 1 * GiB, 16 * KiB), 4 * ms);
  EXPECT_EQ(disk.serve(0, 16 * KiB, 16 * KiB), 6 * ms);
}

TEST(disk_model, a_shrunk_disk_takes_the_time_of_the_large_one) {
  const disk_model large = ibm_120gxp();
  const disk_model small = shrunk(large, 128);
  for (const uint64_t offset : {uint64_t{0}, 3 * GiB, 60 * GiB}) {
    EXPECT_NEAR(static_cast<double>(small.transfer_ns(offset / 128, 16 * KiB)),
                static_cast<double>(large.transfer_ns(offset, 2 * MiB)), 2);
    EXPECT_NEAR(static_cast<double>(small.seek_ns(offset / 128)), static_cast<double>(large.seek_ns(offset)), 2);
  }
}

TEST(disk_model, names) {
  EXPECT_EQ(disk_model_named("nvme").name, "nvme");
  EXPECT_EQ(disk_model_named("ibm_120gxp").depth, 1U);
  EXPECT_THROW(disk_model_named("floppy"), error);
}

}  // namespace
}  // namespace flowrun::io
