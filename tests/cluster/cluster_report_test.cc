// What the report of a job on a cluster says of its stages.
#include "cluster/cluster_report.h"

#include <gtest/gtest.h>

namespace flowrun::cluster {
namespace {

std::string cause(const std::vector<finished_task>& tasks) { return stage_report({}, 0, tasks).slowest_because(); }

TEST(cluster_report, a_stage_has_its_slowest_task_and_the_median) {
  const exec::RunReport::Stage s =
      stage_report({"sorted", "counts"}, 7.5, {{1, 10, 1, "a"}, {3, 10, 1, "a"}, {2, 10, 1, "a"}, {1.5, 10, 1, "a"}});
  EXPECT_EQ(s.nodes_size(), 2);
  EXPECT_EQ(s.tasks(), 4U);
  EXPECT_DOUBLE_EQ(s.seconds(), 7.5);
  EXPECT_DOUBLE_EQ(s.median_seconds(), 1.5);
  EXPECT_DOUBLE_EQ(s.slowest_seconds(), 3);
  EXPECT_EQ(s.slowest_task(), 2U);
}

TEST(cluster_report, why_a_task_is_the_slowest) {
  // Nobody asks for the cause of little.
  EXPECT_EQ(cause({{1, 10, 1, "a"}}), "");
  EXPECT_EQ(cause({{1, 10, 1, "a"}, {1.4, 9000, 4, "b"}}), "");
  EXPECT_EQ(cause({{1, 2000, 1, "a"}, {1, 1000, 1, "a"}, {4, 5000, 2, "b"}}),
            "it had 5,000 rows, and half of the tasks 2,000 or fewer");
  EXPECT_EQ(cause({{1, 1000, 1, "a"}, {1, 1000, 1, "a"}, {4, 1000, 3, "b"}}), "it was begun 3 times");
  EXPECT_EQ(cause({{1, 1000, 1, "a"}, {1, 1000, 1, "a"}, {4, 1000, 1, "b"}}), "it ran on b");
  EXPECT_EQ(cause({{1, 1000, 1, "a"}, {1, 1000, 1, "a"}, {4, 1000, 1, "a"}}), "");
  // A task without rows wasn't slow for having many.
  EXPECT_EQ(cause({{1, 0, 1, "a"}, {1, 0, 1, "a"}, {4, 0, 1, "a"}}), "");
}

// Of a task that has run for so long.
Progress ran(double seconds) {
  Progress out;
  out.mutable_counted()->set_wall_seconds(seconds);
  return out;
}

TEST(cluster_report, a_stage_that_runs_has_the_times_so_far) {
  stage_progress now(5);
  const exec::RunReport::Stage first = running_stage({"sorted"}, 0.1, {}, now);
  EXPECT_EQ(first.tasks(), 5U);
  EXPECT_EQ(first.tasks_done(), 0U);
  EXPECT_EQ(first.tasks_at_work(), 0U);
  EXPECT_EQ(first.median_seconds(), 0);
  EXPECT_EQ(first.slowest_task(), 0U);
  for (const size_t task : {0, 1, 2, 3}) now.note_attempts(task, task == 1 ? 2 : 1);
  now.finish(0, ran(2), "a");
  now.finish(1, ran(1), "a");
  now.add(2, ran(4));  // at work
  const exec::RunReport::Stage s = running_stage({"sorted"}, 5, {}, now);
  EXPECT_EQ(s.nodes(0), "sorted");
  EXPECT_EQ(s.tasks(), 5U);
  EXPECT_EQ(s.tasks_done(), 2U);
  EXPECT_EQ(s.tasks_at_work(), 2U);
  EXPECT_EQ(s.attempts(), 5U);
  EXPECT_DOUBLE_EQ(s.median_seconds(), 1);
  EXPECT_DOUBLE_EQ(s.slowest_seconds(), 4);
  EXPECT_EQ(s.slowest_task(), 3U);
}

TEST(cluster_report, a_stage_of_a_body_that_runs_again_has_the_tasks_of_all_iterations) {
  stage_progress now(2);
  now.note_attempts(0, 1);
  now.add(0, ran(2));
  const exec::RunReport::Stage s =
      running_stage({"levels.new"}, 9, {{1, 10, 1, "a"}, {7, 10, 3, "a"}, {2, 10, 1, "a"}}, now);
  EXPECT_EQ(s.tasks(), 5U);
  EXPECT_EQ(s.tasks_done(), 3U);
  EXPECT_EQ(s.tasks_at_work(), 1U);
  EXPECT_EQ(s.attempts(), 6U);
  EXPECT_DOUBLE_EQ(s.median_seconds(), 2);
  EXPECT_DOUBLE_EQ(s.slowest_seconds(), 7);
  EXPECT_EQ(s.slowest_task(), 0U);  // nobody could tell of which iteration
}

TEST(cluster_report, skew_is_a_task_that_takes_long_for_its_rows) {
  const std::vector<finished_task> skewed = {{1, 100, 1, ""}, {1, 100, 1, ""}, {5, 700, 1, ""}};
  const std::optional<task_skew> skew = skew_of(skewed);
  ASSERT_TRUE(skew);
  EXPECT_EQ(skew->task, 2U);
  EXPECT_EQ(skew->rows, 700U);
  EXPECT_EQ(skew->median_rows, 100U);
  EXPECT_FALSE(skew_of({{1, 100, 1, ""}, {1, 100, 1, ""}, {5, 150, 1, ""}}));        // for another reason
  EXPECT_FALSE(skew_of({{0.1, 100, 1, ""}, {0.1, 100, 1, ""}, {0.9, 900, 1, ""}}));  // who cares
  EXPECT_FALSE(skew_of({{5, 700, 1, ""}}));
}

}  // namespace
}  // namespace flowrun::cluster
