// The packed list of a run's blocks, beside a plain one.
#include "engine/runs/run_blocks.h"

#include <gtest/gtest.h>

#include <random>

namespace flowrun::runs {
namespace {

using record::word128;

void expect_same(const run_blocks& packed, const std::vector<run_block>& plain) {
  ASSERT_EQ(packed.size(), plain.size());
  ASSERT_EQ(packed.empty(), plain.empty());
  size_t i = 0;
  for (const run_block& b : packed) {
    EXPECT_EQ(b.id, plain[i].id);
    EXPECT_EQ(b.num_rows, plain[i].num_rows);
    EXPECT_TRUE(b.first == plain[i].first);
    EXPECT_EQ(b.first_row_at, plain[i].first_row_at);
    EXPECT_EQ(packed.id(i), plain[i].id);
    EXPECT_EQ(packed.num_rows(i), plain[i].num_rows);
    EXPECT_TRUE(packed.first(i) == plain[i].first);
    EXPECT_EQ(packed.first_row_at(i), plain[i].first_row_at);
    ++i;
  }
  EXPECT_EQ(i, plain.size());
}

TEST(run_blocks, agree_with_a_plain_list) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    // Each part has its first value somewhere, or nowhere.
    const uint64_t low_from = random() % 60, high_from = random() % 60, at_from = random() % 60;
    run_blocks packed;
    std::vector<run_block> plain;
    for (uint64_t i = 0; i < 40; ++i) {
      run_block b;
      b.id = {static_cast<uint32_t>(random() % 16'777'216), static_cast<uint32_t>(random() % 1'048'576) * 4096,
              random() % (uint64_t{1} << 40U) * 4096};
      b.num_rows = static_cast<uint32_t>(random());
      if (i >= low_from) b.first |= random();
      if (i >= high_from) b.first |= word128{random()} << 64U;
      if (i >= at_from) b.first_row_at = random() % 100;
      packed.push_back(b);
      plain.push_back(b);
    }
    expect_same(packed, plain);
    packed.set_id(17, {3, 8192, 12288});
    plain[17].id = {3, 8192, 12288};
    packed.set_id(18, {});
    plain[18].id = {};
    packed.shorten(100);
    packed.shorten(33);
    plain.resize(33);
    packed.drop_front(5);
    plain.erase(plain.begin(), plain.begin() + 5);
    packed.shrink_to_fit();
    expect_same(packed, plain);
    EXPECT_EQ(packed.back().id, plain.back().id);
    packed.drop_front(packed.size());
    expect_same(packed, {});
  }
}

TEST(run_blocks, keep_no_more_than_the_run_needs) {
  const auto bytes_of = [](word128 first, uint64_t first_row_at) {
    run_blocks list;
    for (int i = 0; i < 10; ++i) list.push_back({{1, 4096, 4096}, first, first_row_at, 5});
    return list.num_bytes() / 10;
  };
  EXPECT_EQ(bytes_of(0, 0), 16u);
  EXPECT_EQ(bytes_of(7, 0), 24u);
  EXPECT_EQ(bytes_of(word128{7} << 64U, 0), 24u);
  EXPECT_EQ(bytes_of((word128{7} << 64U) + 1, 0), 32u);
  EXPECT_EQ(bytes_of((word128{7} << 64U) + 1, 9), 40u);
}

TEST(run_blocks, places_that_no_block_can_have) {
  EXPECT_TRUE(run_blocks::can_hold({}));
  EXPECT_TRUE(run_blocks::can_hold({16'777'215, uint32_t{1} << 31U, ((uint64_t{1} << 40U) - 1) * 4096}));
  EXPECT_FALSE(run_blocks::can_hold({16'777'216, 4096, 0}));
  EXPECT_FALSE(run_blocks::can_hold({0, 4097, 0}));
  EXPECT_FALSE(run_blocks::can_hold({0, 4096, 512}));
  EXPECT_FALSE(run_blocks::can_hold({0, 4096, uint64_t{1} << 52U}));
  run_blocks list;
  EXPECT_THROW(list.push_back({{0, 4096, 512}, 0, 0, 0}), error);
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace flowrun::runs
