// The merges before the last one, on made-up runs: which become one, in which places, and what is asked when.
#include "engine/sort/intermediate_merges.h"

#include "tests/support/wakers.h"

#include <gtest/gtest.h>

#include <numeric>

namespace flowrun::sort {
namespace {

// Blocks, gets on, is done; the new run has the rows of all, and the stream of the first.
class made_up_merge final : public intermediate_merge {
 public:
  explicit made_up_merge(const std::vector<runs::run>& from) {
    merged_.stream = from.front().stream;
    for (const runs::run& r : from) merged_.num_rows += r.num_rows;
  }
  outcome advance(waker&) override {
    ++num_calls_;
    return num_calls_ == 1 ? outcome::blocked() : num_calls_ == 2 ? outcome::ready() : outcome::done();
  }
  runs::run take() override { return std::move(merged_); }

 private:
  runs::run merged_;
  int num_calls_ = 0;
};

std::vector<runs::run> runs_of(const std::vector<uint64_t>& sizes) {
  std::vector<runs::run> out(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    out[i].stream = i;
    out[i].num_rows = sizes[i];
  }
  return out;
}

TEST(intermediate_merges, are_none_where_one_merge_takes_all_runs) {
  intermediate_merges merges({5, 5, 5}, 3, [](std::vector<runs::run>) -> std::unique_ptr<intermediate_merge> {
    ADD_FAILURE() << "nothing is to be merged";
    return nullptr;
  });
  EXPECT_TRUE(merges.done());
  EXPECT_EQ(merges.passes(), 1U);
}

TEST(intermediate_merges, put_each_new_run_in_the_place_of_its_parts) {
  const std::vector<uint64_t> sizes = {9, 8, 1, 2, 7, 9, 9};
  size_t num_begun = 0;
  std::vector<std::vector<uint64_t>> told;
  const auto begin = [&](std::vector<runs::run> from) {
    ++num_begun;
    return std::make_unique<made_up_merge>(from);
  };
  intermediate_merges merges(sizes, 3, begin, [&](const std::vector<uint64_t>& streams, const runs::run& made) {
    EXPECT_EQ(made.stream, streams.front());
    told.push_back(streams);
  });
  std::vector<runs::run> runs = runs_of(sizes);
  no_waker nobody;
  size_t num_blocked = 0;
  while (!merges.done()) {
    const outcome o = merges.advance(runs, nobody);
    ASSERT_FALSE(o.is_done());
    num_blocked += o.is_blocked() ? 1 : 0;
  }
  EXPECT_EQ(num_begun, plan_merges(sizes, 3).size());
  EXPECT_EQ(num_blocked, num_begun);
  ASSERT_EQ(told.size(), num_begun);
  for (size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i].size(), plan_merges(sizes, 3)[i].count);
  EXPECT_EQ(runs.size(), 3U);
  EXPECT_EQ(merges.passes(), merge_passes(sizes.size(), plan_merges(sizes, 3)));
  // In input order, and each has the rows from its first part up to the next run.
  for (size_t i = 0; i < runs.size(); ++i) {
    const size_t end = i + 1 < runs.size() ? runs[i + 1].stream : sizes.size();
    ASSERT_LT(runs[i].stream, end);
    EXPECT_EQ(runs[i].num_rows, std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(runs[i].stream),
                                                sizes.begin() + static_cast<std::ptrdiff_t>(end), uint64_t{0}));
  }
}

}  // namespace
}  // namespace flowrun::sort
