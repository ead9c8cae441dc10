// Into how many tasks sorts are divided so that they stay in memory.
#include "cluster/tasks_in_memory.h"

#include <gtest/gtest.h>

#include "cluster/driver.h"
#include "engine/base/units.h"
#include "tests/support/checked_job.h"

namespace flowrun::cluster {
namespace {

// 10,000,000 rows of 24 bytes, which are sorted with 16 bytes of index each.
constexpr const char* numbers =
    "  a: {op: generate, with: {rows: 10000000, columns: {x: i, k: \"i % 7\", l: \"i % 3\"}}}\n";
constexpr const char* sorted = "  s: {op: sort, in: a, with: {by: [k]}}\n";

// Of the first stage, where three are the most that are asked for.
size_t num_tasks(const std::string& nodes, uint64_t memory_bytes) {
  const divided_job job = divide(
      std::make_shared<const plan::graph>(exec::graph_of("flowrun: 1\nnodes:\n" + nodes)), 3,
      [](const std::string&) { return 1000; }, memory_bytes);
  return job.pieces[static_cast<size_t>(job.cut.all.at(0).source)].size();
}
std::string written(const std::string& from) {
  return "  " + from + "_written: {op: file.write_rows, in: " + from + ", with: {path: " + from + "}}\n";
}

TEST(tasks_in_memory, a_sort_has_as_many_as_keep_their_rows_in_memory) {
  const std::string job = std::string(numbers) + sorted + written("s");
  EXPECT_EQ(num_tasks(job, 4 * GiB), 3U);
  // Twice 400 MB, by seven eighths of this, are 3.9: two rounds of three at once.
  EXPECT_EQ(num_tasks(job, 224 * MiB), 6U);
  EXPECT_EQ(num_tasks(job, 0), 3U) << "users have said how many";
}

TEST(tasks_in_memory, a_task_can_merge_the_runs_of_all) {
  const std::string job = std::string(numbers) + sorted + written("s");
  EXPECT_EQ(num_tasks(job, 144 * MiB), 9U);
  EXPECT_EQ(num_tasks(job, 128 * MiB), 3U) << "128 MiB are for 8 runs, and there would be 9";
  // Two sorts share a task's memory in the first stage, and the merges of the second.
  const std::string two = job + "  t: {op: sort, in: a, with: {by: [l]}}\n" + written("t");
  EXPECT_EQ(num_tasks(two, 448 * MiB), 6U);
  EXPECT_EQ(num_tasks(two, 224 * MiB), 3U) << "224 MiB are for 14 runs, and there would be twice 9";
}

TEST(tasks_in_memory, where_nothing_is_sorted_there_are_no_more) {
  EXPECT_EQ(num_tasks(std::string(numbers) + written("a"), 4 * MiB), 3U);
  EXPECT_EQ(num_tasks(std::string(numbers) + "  s: {op: sort, in: a, with: {by: [k], limit: 10}}\n" + written("s"),
                      224 * MiB),
            3U);
  // Partial results are no runs.
  EXPECT_EQ(num_tasks(std::string(numbers) + "  r: {op: reduce, in: a, with: {let: {n: \"count()\"}}}\n" + written("r"),
                      4 * MiB),
            3U);
}

}  // namespace
}  // namespace flowrun::cluster
