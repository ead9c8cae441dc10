#include "engine/kernels/loser_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace flowrun::kernels {
namespace {

// Merges with the tree; equal heads by source.
std::vector<std::pair<int, size_t>> merged(const std::vector<std::vector<int>>& sources, uint64_t divisor = 1,
                                           size_t* num_ties = nullptr) {
  std::vector<size_t> at(sources.size(), 0);
  auto less = [&](uint32_t a, uint32_t b, uint64_t&) {
    if (num_ties != nullptr) ++*num_ties;
    const int left = sources[a][at[a]], right = sources[b][at[b]];
    return left != right ? left < right : a < b;
  };
  // Only a part of each value is its key; ties are broken by the rest and by source.
  auto key = [&](uint32_t s) { return static_cast<uint64_t>(sources[s][at[s]]) / divisor; };
  loser_tree<uint64_t, decltype(less)> tree(sources.size(), less);
  for (uint32_t s = 0; s < sources.size(); ++s)
    if (!sources[s].empty()) tree.set(s, key(s));
  tree.start();
  std::vector<std::pair<int, size_t>> out;
  while (tree.winner() != tree.none) {
    const uint32_t s = tree.winner();
    out.emplace_back(sources[s][at[s]], s);
    if (++at[s] == sources[s].size()) {
      tree.replay_exhausted();
    } else {
      tree.replay(key(s));
    }
  }
  return out;
}

TEST(loser_tree, merges_any_number_of_sources_stably) {
  std::mt19937 random(1);
  for (size_t k = 0; k <= 20; ++k) {
    for (const int distinct : {1, 5, 1'000'000}) {
      std::vector<std::vector<int>> sources(k);
      std::vector<std::pair<int, size_t>> expected;
      for (size_t s = 0; s < k; ++s) {
        const size_t num_rows = random() % 4 == 0 ? 0 : random() % 50;
        for (size_t i = 0; i < num_rows; ++i)
          sources[s].push_back(static_cast<int>(random() % static_cast<unsigned>(distinct)));
        std::sort(sources[s].begin(), sources[s].end());
        for (int value : sources[s]) expected.emplace_back(value, s);
      }
      std::sort(expected.begin(), expected.end());
      for (const uint64_t divisor : {uint64_t{1}, uint64_t{3}, uint64_t{1} << 40})
        EXPECT_EQ(merged(sources, divisor), expected) << k;
    }
  }
}

TEST(loser_tree, names_the_runner_up) {
  std::mt19937 random(2);
  for (size_t k = 0; k <= 20; ++k) {
    std::vector<uint64_t> heads(k);
    for (uint64_t& head : heads) head = random() % 8;  // 8: none any more
    auto earlier = [](uint32_t a, uint32_t b, uint64_t&) { return a < b; };
    loser_tree<uint64_t, decltype(earlier)> tree(k, earlier);
    for (uint32_t s = 0; s < k; ++s) tree.set(s, heads[s]);
    tree.start();
    for (int replay = 0; replay < 200; ++replay) {
      std::vector<std::pair<uint64_t, uint32_t>> left;
      for (uint32_t s = 0; s < k; ++s)
        if (heads[s] < 8) left.emplace_back(heads[s], s);
      std::sort(left.begin(), left.end());
      ASSERT_EQ(tree.winner(), left.empty() ? tree.none : left[0].second);
      ASSERT_EQ(tree.runner_up(), left.size() < 2 ? tree.none : left[1].second) << k;
      if (left.empty()) break;
      heads[tree.winner()] = replay < 100 ? random() % 8 : 8;
      if (replay < 100)
        tree.replay(heads[tree.winner()]);
      else
        tree.replay_exhausted();
    }
  }
}

TEST(loser_tree, the_example_in_its_header) {
  const std::vector<std::vector<int>> sources = {{5}, {3}, {7}, {1, 9}, {4}, {8}, {2}, {6}};
  const auto out = merged(sources);
  ASSERT_EQ(out.size(), 9U);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(out[i].first, static_cast<int>(i) + 1);
}

TEST(loser_tree, costs_log_k_comparisons_a_row) {
  for (const size_t k : {size_t{2}, size_t{8}, size_t{16}}) {
    std::vector<std::vector<int>> sources(k);
    for (int i = 0; i < 1000; ++i) sources[static_cast<size_t>(i) % k].push_back(i);
    size_t num_comparisons = 0;
    merged(sources, 1000, &num_comparisons);  // all keys are equal, so each match asks
    size_t log_k = 0;
    while ((size_t{1} << log_k) < k) ++log_k;
    EXPECT_LE(num_comparisons, k - 1 + 1000 * log_k) << k;
    EXPECT_GT(num_comparisons, 500 * log_k) << k;
    num_comparisons = 0;
    merged(sources, 1, &num_comparisons);  // all keys differ: the nodes alone decide
    EXPECT_EQ(num_comparisons, 0U);
  }
}

// The largest key is as good as any other, though exhausted sources have it too.
TEST(loser_tree, the_largest_key_comes_before_nothing) {
  auto by_source = [](uint32_t a, uint32_t b, uint64_t&) { return a < b; };
  loser_tree<uint64_t, decltype(by_source)> tree(5, by_source);
  tree.set(1, ~uint64_t{0});
  tree.set(3, ~uint64_t{0});
  tree.start();
  EXPECT_EQ(tree.winner(), 1U);
  tree.replay(~uint64_t{0});
  EXPECT_EQ(tree.winner(), 1U);
  tree.replay_exhausted();
  EXPECT_EQ(tree.winner(), 3U);
  tree.replay_exhausted();
  EXPECT_EQ(tree.winner(), tree.none);
}

}  // namespace
}  // namespace flowrun::kernels
