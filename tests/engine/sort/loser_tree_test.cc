#include "engine/sort/loser_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace flowrun::sort {
namespace {

// Merges with the tree; equal heads by source.
std::vector<std::pair<int, size_t>> merged(const std::vector<std::vector<int>>& sources, size_t* num_comparisons = nullptr) {
  std::vector<size_t> at(sources.size(), 0);
  auto less = [&](uint32_t a, uint32_t b) {
    if (num_comparisons != nullptr) ++*num_comparisons;
    const int left = sources[a][at[a]], right = sources[b][at[b]];
    return left != right ? left < right : a < b;
  };
  loser_tree<decltype(less)> tree(sources.size(), less);
  for (uint32_t s = 0; s < sources.size(); ++s)
    if (sources[s].empty()) tree.exhaust(s);
  tree.start();
  std::vector<std::pair<int, size_t>> out;
  while (tree.winner() != tree.none) {
    const uint32_t s = tree.winner();
    out.emplace_back(sources[s][at[s]], s);
    if (++at[s] == sources[s].size()) tree.exhaust(s);
    tree.replay();
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
        for (size_t i = 0; i < num_rows; ++i) sources[s].push_back(static_cast<int>(random() % static_cast<unsigned>(distinct)));
        std::sort(sources[s].begin(), sources[s].end());
        for (int value : sources[s]) expected.emplace_back(value, s);
      }
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(merged(sources), expected) << k;
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
    merged(sources, &num_comparisons);
    size_t log_k = 0;
    while ((size_t{1} << log_k) < k) ++log_k;
    EXPECT_LE(num_comparisons, k - 1 + 1000 * log_k) << k;
  }
}

}  // namespace
}  // namespace flowrun::sort
