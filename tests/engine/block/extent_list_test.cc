// Free space: first fit, joining, and freeing twice.
#include "engine/block/extent_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "engine/base/error.h"

namespace flowrun::block {
namespace {

TEST(extent_list, takes_the_lowest_extent_that_fits) {
  extent_list free;
  free.give(100, 10);
  free.give(200, 30);
  free.give(300, 30);
  EXPECT_EQ(free.take(20), 200u);
  EXPECT_EQ(free.take(10), 100u);
  EXPECT_EQ(free.take(10), 220u);
  EXPECT_EQ(free.take(40), std::nullopt);
  EXPECT_EQ(free.take(30), 300u);
  EXPECT_EQ(free.free_bytes(), 0u);
  EXPECT_EQ(free.num_extents(), 0u);
}

TEST(extent_list, joins_neighbours_on_both_sides) {
  extent_list free;
  free.give(0, 10);
  free.give(20, 10);
  EXPECT_EQ(free.num_extents(), 2u);
  free.give(10, 10);
  EXPECT_EQ(free.num_extents(), 1u);
  free.give(40, 10);
  free.give(30, 10);  // joins what comes before and after
  EXPECT_EQ(free.num_extents(), 1u);
  EXPECT_EQ(free.take(50), 0u);
  free.give(10, 5);
  free.give(5, 5);  // joins only what comes after
  EXPECT_EQ(free.num_extents(), 1u);
  EXPECT_EQ(free.take(10), 5u);
}

TEST(extent_list, freeing_twice_is_our_bug) {
  extent_list free;
  free.give(10, 10);
  EXPECT_THROW(free.give(10, 10), error);
  EXPECT_THROW(free.give(5, 6), error);
  EXPECT_THROW(free.give(19, 5), error);
  EXPECT_THROW(free.give(12, 2), error);
  EXPECT_EQ(free.free_bytes(), 10u);
}

// Against a plain bitmap with the same rule.
TEST(extent_list, agrees_with_a_bitmap) {
  constexpr uint64_t length = 200;
  std::mt19937 random(7);
  extent_list free;
  free.give(0, length);
  std::vector<bool> is_free(length, true);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (int round = 0; round < 5000; ++round) {
    if (taken.empty() || random() % 2 == 0) {
      const uint64_t wanted = 1 + random() % 20;
      std::optional<uint64_t> expected;
      for (uint64_t at = 0; at + wanted <= length && !expected; ++at) {
        bool fits = true;
        for (uint64_t i = at; i < at + wanted; ++i) fits = fits && is_free[i];
        if (fits) expected = at;
      }
      const auto got = free.take(wanted);
      ASSERT_EQ(got, expected);
      if (!got) continue;
      for (uint64_t i = *got; i < *got + wanted; ++i) is_free[i] = false;
      taken.emplace_back(*got, wanted);
    } else {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [offset, wanted] = taken.back();
      taken.pop_back();
      free.give(offset, wanted);
      for (uint64_t i = offset; i < offset + wanted; ++i) is_free[i] = true;
    }
    ASSERT_EQ(free.free_bytes(), static_cast<uint64_t>(std::count(is_free.begin(), is_free.end(), true)));
  }
}

TEST(extent_list, takes_a_place_that_is_named) {
  extent_list free;
  free.give(0, 100);
  EXPECT_TRUE(free.take_at(40, 20));
  EXPECT_EQ(free.free_bytes(), 80u);
  EXPECT_FALSE(free.take_at(50, 5));
  EXPECT_FALSE(free.take_at(30, 20));
  EXPECT_FALSE(free.take_at(90, 20));
  EXPECT_TRUE(free.take_at(0, 40));
  EXPECT_TRUE(free.take_at(60, 40));
  EXPECT_EQ(free.num_extents(), 0u);
  EXPECT_FALSE(free.take_at(0, 1));
}

}  // namespace
}  // namespace flowrun::block
