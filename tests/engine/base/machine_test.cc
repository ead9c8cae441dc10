// What the machine lets us have, against what the system says by another way.
#include "engine/base/machine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/units.h"
#include "tests/support/sanitized.h"

namespace flowrun {
namespace {

TEST(machine, cores_are_at_least_one_and_within_the_affinity) {
  EXPECT_GE(usable_cores(), 1U);
  EXPECT_LE(usable_cores(), static_cast<unsigned>(sysconf(_SC_NPROCESSORS_CONF)));
}

TEST(machine, cores_follow_the_affinity) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1U);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

size_t room_behind(size_t num_bytes) {
  volatile char used[256] = {};
  const size_t out = num_bytes <= sizeof used ? stack_room() : room_behind(num_bytes - sizeof used);
  return out + static_cast<size_t>(used[0]);
}

TEST(machine, the_stack_has_less_room_the_deeper_it_is) {
  const size_t room = stack_room();
  EXPECT_GT(room, 64 * KiB);
  EXPECT_LT(room_behind(16 * KiB), room - 16 * KiB + 512);
}

TEST(machine, memory_is_not_more_than_the_ram) {
  const auto ram = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LE(usable_memory(), ram);
  EXPECT_GT(usable_memory(), 16 * MiB);
}

TEST(machine, touched_memory_is_resident_and_leaves_a_peak) {
  const uint64_t before = resident_bytes();
  ASSERT_GT(before, 0U);
  {
    aligned_buffer buffer(64 * MiB);
    std::memset(buffer.data(), 1, buffer.num_bytes());
    EXPECT_GE(resident_bytes(), before + 60 * MiB);
  }
  EXPECT_GE(peak_resident_bytes(), before + 60 * MiB);
  EXPECT_LT(resident_bytes(), before + 32 * MiB);
}

TEST(machine, freed_memory_between_pieces_in_use_goes_back) {
  constexpr size_t num_pieces = 16'384, piece_bytes = 2 * KiB;
  std::vector<std::unique_ptr<std::byte[]>> pieces, in_use;
  for (size_t i = 0; i < num_pieces; ++i) {
    pieces.push_back(std::make_unique<std::byte[]>(piece_bytes));  // zeros: they are resident
    if (i % 256 == 255) in_use.push_back(std::make_unique<std::byte[]>(piece_bytes));
  }
  pieces.clear();
  const uint64_t before = resident_bytes();
  give_back_freed_memory();
  if (!sanitized) {
    EXPECT_LT(resident_bytes(), before - 20 * MiB);
  }
  for (const auto& piece : in_use) EXPECT_EQ(piece[0], std::byte{0});
}

TEST(machine, work_costs_cpu_seconds) {
  const double before = cpu_seconds();
  volatile uint64_t sum = 0;
  // Ends by the figure that is tested, so that a slow machine needs no more patience than a fast one.
  while (cpu_seconds() < before + 0.02)
    for (uint64_t i = 0; i < 100000; ++i) sum = sum + i;
  EXPECT_GE(cpu_seconds(), before + 0.02);
}

TEST(machine, knows_ram_disks) {
  EXPECT_FALSE(on_ram_disk("/proc"));
  EXPECT_FALSE(on_ram_disk("/no/such/place"));
  if (access("/dev/shm", F_OK) == 0) {
    EXPECT_TRUE(on_ram_disk("/dev/shm"));
  }
}

}  // namespace
}  // namespace flowrun
