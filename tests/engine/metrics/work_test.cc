#include "engine/metrics/work.h"

#include <gtest/gtest.h>

#include <vector>

namespace flowrun::metrics {
namespace {

// Without what pipelines ask for.
void expect_bytes(const job_work& found, double ratio, double done, double left_now, double left_later) {
  EXPECT_DOUBLE_EQ(found.ratio, ratio);
  EXPECT_DOUBLE_EQ(found.done, done);
  EXPECT_DOUBLE_EQ(found.left_now, left_now);
  EXPECT_DOUBLE_EQ(found.left_later, left_later);
  EXPECT_FALSE(found.open);
  EXPECT_TRUE(found.exact);
}

TEST(work, is_added_up_by_phases) {
  const std::vector<pipeline_work> job = {{0, 100, 100}, {1, 30, 50}, {1, 0, 20}, {2, 0, 200}};
  expect_bytes(add_up(job, 1), 130.0 / 370, 130, 40, 200);
}

TEST(work, demands_are_of_what_is_done_of_the_phase_that_runs_and_of_each_one_behind_it) {
  const std::vector<pipeline_work> job = {{0, 100, 100, false, true, {10, 0, 100}},
                                          {1, 25, 50, false, true, {8, 100, 40}},
                                          {3, 0, 20, false, true, {2, 40, 0}}};
  const job_work now = add_up(job, 1);
  EXPECT_EQ(now.asked, (demand{14, 50, 120}));
  EXPECT_EQ(now.now, (demand{8, 100, 40}));
  EXPECT_EQ(now.later, (std::vector<demand>{{}, {2, 40, 0}}));
}

TEST(work, of_earlier_phases_is_done) {
  const std::vector<pipeline_work> job = {{0, 90, 100}, {1, 0, 100}};
  expect_bytes(add_up(job, 1), 0.5, 100, 100, 0);
}

TEST(work, a_guess_is_no_longer_one_when_it_is_done) {
  const std::vector<pipeline_work> job = {{0, 50, 100, false, false}, {1, 0, 100}};
  EXPECT_FALSE(add_up(job, 0).exact);
  EXPECT_TRUE(add_up(job, 1).exact);
}

TEST(work, an_open_pipeline_counts_as_much_as_the_others_together) {
  const std::vector<pipeline_work> job = {{0, 100, 100}, {1, 0, 0, true}, {2, 0, 100}};
  const job_work looping = add_up(job, 1);
  EXPECT_TRUE(looping.open);
  EXPECT_FALSE(looping.exact);
  EXPECT_DOUBLE_EQ(looping.ratio, 100.0 / 400);
  const job_work behind = add_up(job, 2);
  EXPECT_FALSE(behind.open);
  EXPECT_DOUBLE_EQ(behind.ratio, 300.0 / 400);
  EXPECT_DOUBLE_EQ(behind.left_now, 100);
  EXPECT_DOUBLE_EQ(add_up(job, 3).ratio, 1);
}

TEST(work, more_than_expected_is_not_more_than_all) {
  const std::vector<pipeline_work> job = {{0, 150, 100}};
  expect_bytes(add_up(job, 0), 1, 150, 0, 0);
}

TEST(work, nothing_at_all) {
  expect_bytes(add_up({}, 0), 0, 0, 0, 0);
  const std::vector<pipeline_work> loop = {{0, 0, 0, true}};
  EXPECT_EQ(add_up(loop, 0).ratio, 0);
  EXPECT_EQ(add_up(loop, 1).ratio, 1);
}

}  // namespace
}  // namespace flowrun::metrics
