#include "engine/runs/prediction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace flowrun::runs {
namespace {

// Runs whose blocks have these first keys.
std::vector<run> runs_of(const std::vector<std::vector<uint64_t>>& firsts) {
  std::vector<run> out;
  for (const auto& of_run : firsts) {
    run r;
    r.stream = 100 + out.size();
    for (uint64_t first : of_run) {
      run_block b;
      b.first = first;
      b.id.offset = 4096 * r.blocks.size();
      b.id.num_bytes = 4096;
      r.blocks.push_back(b);
    }
    out.push_back(std::move(r));
  }
  return out;
}

std::vector<predicted_block> predicted(const std::vector<run>& runs) {
  prediction sigma(
      runs, [](const run& a, uint32_t i, const run& b, uint32_t j) { return a.blocks.first(i) < b.blocks.first(j); });
  std::vector<predicted_block> out;
  while (!sigma.done()) out.push_back(sigma.next());
  return out;
}

using place = std::pair<uint32_t, uint32_t>;

std::vector<place> places(const std::vector<predicted_block>& sequence) {
  std::vector<place> out;
  for (const predicted_block& p : sequence) out.emplace_back(p.run, p.block);
  return out;
}

TEST(prediction, blocks_by_first_key) {
  EXPECT_EQ(places(predicted(runs_of({{1, 9}, {2, 3, 8}, {}}))),
            (std::vector<place>{{0, 0}, {1, 0}, {1, 1}, {1, 2}, {0, 1}}));
  EXPECT_TRUE(predicted({}).empty());
}

TEST(prediction, earlier_runs_first_among_equals_and_runs_in_their_order) {
  EXPECT_EQ(places(predicted(runs_of({{5, 5}, {5, 6}, {4, 5}}))),
            (std::vector<place>{{2, 0}, {0, 0}, {0, 1}, {1, 0}, {2, 1}, {1, 1}}));
}

TEST(prediction, agrees_with_a_stable_sort) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<uint64_t>> firsts(1 + random() % 12);
    for (auto& of_run : firsts) {
      of_run.resize(random() % 30);
      for (uint64_t& first : of_run) first = random() % 40;
      std::sort(of_run.begin(), of_run.end());
    }
    const std::vector<run> runs = runs_of(firsts);
    std::vector<place> expected;
    for (uint32_t r = 0; r < runs.size(); ++r)
      for (uint32_t b = 0; b < runs[r].blocks.size(); ++b) expected.emplace_back(r, b);
    std::stable_sort(expected.begin(), expected.end(), [&](const place& a, const place& b) {
      return firsts[a.first][a.second] < firsts[b.first][b.second];
    });
    EXPECT_EQ(places(predicted(runs)), expected);
  }
}

TEST(prediction, names_blocks_for_the_prefetcher) {
  const std::vector<run> runs = runs_of({{1, 9}, {2}});
  std::vector<block::fetch> list;
  for (const predicted_block& p : predicted(runs)) list.push_back(fetch_of(runs, p));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1].stream, 101U);
  EXPECT_EQ(list[1].index, 0U);
  EXPECT_EQ(list[2].stream, 100U);
  EXPECT_EQ(list[2].index, 1U);
  EXPECT_EQ(list[2].id, runs[0].blocks[1].id);
}

TEST(prediction, tells_what_it_has_not_given) {
  const std::vector<run> runs = runs_of({{1, 9}, {2, 3, 8}, {}, {7}});
  prediction sigma(
      runs, [](const run& a, uint32_t i, const run& b, uint32_t j) { return a.blocks.first(i) < b.blocks.first(j); });
  for (int i = 0; i < 4; ++i) sigma.next();
  std::vector<place> left = places(sigma.fronts());
  std::sort(left.begin(), left.end());
  EXPECT_EQ(left, (std::vector<place>{{0, 1}, {1, 2}}));
  const std::vector<run> one = runs_of({{4, 4, 4}});
  prediction alone(one, {});  // there is nothing to compare
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(alone.next().block, i);
  EXPECT_TRUE(alone.done());
}

}  // namespace
}  // namespace flowrun::runs
