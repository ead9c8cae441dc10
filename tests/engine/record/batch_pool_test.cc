#include "engine/record/batch_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/base/machine.h"
#include "tests/support/sanitized.h"

namespace flowrun::record {
namespace {

using buffers = std::vector<std::shared_ptr<std::byte[]>>;

buffers take(batch_pool& pool, int count, size_t num_bytes) {
  buffers out;
  for (int i = 0; i < count; ++i) {
    out.push_back(pool.take(num_bytes));
    std::memset(out.back().get(), 1, num_bytes);
  }
  return out;
}

TEST(batch_pool, recycles_buffers) {
  batch_pool pool;
  const std::byte* address = nullptr;
  {
    const auto buffer = pool.take(5000);
    address = buffer.get();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 64, 0U);
    EXPECT_EQ(pool.held_bytes(), 8192U);
    std::memset(buffer.get(), 1, 8192);
  }
  EXPECT_EQ(pool.held_bytes(), 8192U);  // on the free list
  EXPECT_EQ(pool.take(8192).get(), address);
  EXPECT_EQ(pool.peak_bytes(), 8192U);
  EXPECT_EQ(pool.take(0).get() == nullptr, false);
}

TEST(batch_pool, gives_out_first_what_came_back_last) {
  batch_pool pool;
  auto first = pool.take(256 * KiB), second = pool.take(256 * KiB);
  const std::byte* hot = first.get();
  second.reset();
  first.reset();
  EXPECT_EQ(pool.take(256 * KiB).get(), hot);
}

TEST(batch_pool, gives_large_surplus_back_to_the_system) {
  batch_pool pool;
  const uint64_t before = resident_bytes();
  take(pool, 64, 1 * MiB);
  EXPECT_EQ(pool.held_bytes(), 16 * MiB);
  EXPECT_EQ(pool.peak_bytes(), 64 * MiB);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), batch_pool::always_kept);
  // A sanitizer's notes of the memory stay.
  if (!sanitized) {
    EXPECT_LE(resident_bytes(), before + batch_pool::always_kept + 1 * MiB);
  }
}

TEST(batch_pool, keeps_what_is_taken_again_and_again) {
  batch_pool pool;
  take(pool, 12, 1 * MiB);
  for (int round = 0; round < 100; ++round) take(pool, 12, 1 * MiB);
  EXPECT_EQ(pool.held_bytes(), 12 * MiB);
  EXPECT_EQ(pool.peak_bytes(), 12 * MiB);
}

TEST(batch_pool, gives_back_what_nobody_has_taken_for_long) {
  batch_pool pool;
  take(pool, 12, 1 * MiB);
  for (int round = 0; round < 1000; ++round) take(pool, 1, 256 * KiB);
  EXPECT_EQ(pool.held_bytes(), batch_pool::always_kept + 256 * KiB);
}

TEST(batch_pool, small_surplus_stays) {
  batch_pool pool;
  take(pool, 100, 4 * KiB);
  for (int round = 0; round < 10'000; ++round) take(pool, 1, 64 * KiB);
  pool.trim();
  EXPECT_EQ(pool.held_bytes(), 464 * KiB);
}

TEST(batch_pool, buffers_outlive_it) {
  std::shared_ptr<std::byte[]> large, small;
  {
    batch_pool pool;
    large = pool.take(1 * MiB);
    small = pool.take(100);
  }
  std::memset(large.get(), 1, 1 * MiB);
  std::memset(small.get(), 1, 100);
}

TEST(batch_pool, is_safe_from_several_threads) {
  batch_pool pool;
  auto work = [&](int seed) {
    for (int i = 0; i < 2000; ++i) {
      const auto buffer = pool.take(static_cast<size_t>(64 + (i * 37 + seed) % 5000));
      buffer[0] = static_cast<std::byte>(seed);
      EXPECT_EQ(buffer[0], static_cast<std::byte>(seed));
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_LE(pool.peak_bytes(), 2U * (8192 + 4096 + 2048 + 1024 + 512 + 256 + 128 + 64));
}

}  // namespace
}  // namespace flowrun::record
