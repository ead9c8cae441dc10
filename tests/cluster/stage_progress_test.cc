#include "cluster/stage_progress.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

Progress told(uint64_t rows, double ratio, uint64_t bytes_read = 0) {
  Progress out;
  out.set_rows(rows);
  out.set_ratio(ratio);
  out.set_bytes_read(bytes_read);
  return out;
}

TEST(stage_progress, adds_up_what_tasks_tell) {
  stage_progress all(4);
  EXPECT_EQ(all.ratio(), 0);
  all.add(0, told(10, 0.5, 100));
  all.add(1, told(20, 0.25, 300));
  EXPECT_EQ(all.rows(), 30U);
  EXPECT_EQ(all.bytes_read(), 400U);
  EXPECT_DOUBLE_EQ(all.ratio(), 0.75 / 4);
  EXPECT_EQ(all.num_done(), 0U);
}

TEST(stage_progress, a_second_attempt_takes_nothing_away) {
  stage_progress all(1);
  all.add(0, told(10, 0.5));
  all.add(0, told(2, 0.1));  // another one has begun
  EXPECT_EQ(all.rows(), 10U);
  EXPECT_DOUBLE_EQ(all.ratio(), 0.5);
  all.add(0, told(12, 0.6));
  EXPECT_EQ(all.rows(), 12U);
}

TEST(stage_progress, what_is_done_stays_as_the_first_has_told_it) {
  stage_progress all(2);
  all.add(0, told(10, 0.5));
  all.finish(0, told(40, 1));
  all.add(0, told(90, 0.9));  // a second attempt that goes on for a while
  EXPECT_EQ(all.rows(), 40U);
  EXPECT_DOUBLE_EQ(all.ratio(), 0.5);
  EXPECT_EQ(all.num_done(), 1U);
  all.finish(1, told(0, 0));  // it had nothing to do
  EXPECT_DOUBLE_EQ(all.ratio(), 1);
  EXPECT_EQ(all.num_done(), 2U);
}

TEST(stage_progress, what_nodes_have_counted_is_that_of_the_attempt_that_counts) {
  const auto with_nodes = [](Progress p) {
    exec::RunReport::Node& n = *p.mutable_counted()->add_nodes();
    n.set_id("sorted");
    n.set_rows(p.rows());
    return p;
  };
  const auto counted = [](const stage_progress& all) { return all.tasks()[0].counted.nodes(0).rows(); };
  stage_progress all(3);
  all.add(0, with_nodes(told(10, 0.5)));
  all.add(0, with_nodes(told(2, 0.1)));
  EXPECT_EQ(counted(all), 10U);
  all.add(0, with_nodes(told(30, 0.6)));
  EXPECT_EQ(counted(all), 30U);
  all.finish(0, with_nodes(told(25, 1)));  // it was not the furthest, but the first that was done
  EXPECT_EQ(counted(all), 25U);
  all.add(0, with_nodes(told(70, 0.9)));
  EXPECT_EQ(counted(all), 25U);
}

TEST(stage_progress, a_task_is_at_work_from_its_first_attempt_to_its_end) {
  stage_progress all(3);
  EXPECT_EQ(all.num_at_work(), 0U);
  all.note_attempts(1, 1);
  all.note_attempts(2, 1);
  all.note_attempts(7, 1);  // there is no such task
  EXPECT_EQ(all.num_at_work(), 2U);
  all.note_attempts(1, 2);
  EXPECT_EQ(all.num_at_work(), 2U);
  EXPECT_EQ(all.tasks()[1].attempts, 2U);
  all.finish(1, told(1, 1), "a");
  all.finish(0, told(1, 1), "b");  // done before its attempt was seen
  EXPECT_EQ(all.num_at_work(), 1U);
  EXPECT_EQ(all.tasks()[0].attempts, 1U);
  EXPECT_EQ(all.tasks()[0].host, "b");
}

TEST(stage_progress, tasks_that_there_are_not_are_ignored) {
  stage_progress all(1), none;
  all.add(7, told(1, 1));
  all.finish(7, told(1, 1));
  EXPECT_EQ(all.rows(), 0U);
  EXPECT_EQ(all.num_done(), 0U);
  EXPECT_EQ(none.ratio(), 0);
}

TEST(stage_progress, is_read_from_the_files_of_workers) {
  const temporary_directory home;
  const shared_directory directory(home.path());
  write_message(directory.alive(1, 0, 4711), told(5, 0.5));
  write_message(directory.alive(1, 0, 4712), told(9, 0.7));  // the second attempt
  write_message(directory.alive(1, 12, 3), told(100, 0.1));
  write_message(directory.alive(2, 1, 3), told(1000, 0.1));  // another stage
  home.write("alive-1-1-3.new", "half");                     // being written
  home.write("alive-1-2-3", "\xff\xff damaged");
  stage_progress all(13);
  read_progress(directory, 1, all);
  EXPECT_EQ(all.rows(), 109U);
  EXPECT_EQ(all.tasks()[0].attempts, 2U);
  EXPECT_EQ(all.num_at_work(), 3U);  // the damaged one is, too
  stage_progress of_nothing(1);
  read_progress(shared_directory(home.path() + "/none"), 1, of_nothing);
  EXPECT_EQ(of_nothing.rows(), 0U);
}

}  // namespace
}  // namespace flowrun::cluster
