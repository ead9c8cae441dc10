// What the pipelines of a plan will ask of the processors, from counters that are made up.
#include "engine/exec/pipeline_progress.h"

#include <gtest/gtest.h>

#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// Two million rows of a number and a text that don't fit in memory: sorted, and written as CSV.
constexpr const char* sorted_texts = R"yaml(
  drawn:  {op: generate, with: {rows: 2000000, columns: {w: i, t: "string(rand(1, i))"}}}
  sorted: {op: sort, in: drawn, with: {by: [t]}}
  write:  {op: file.write_csv, in: sorted, with: {path: @OUT/sorted.csv}}
)yaml";

constexpr uint64_t row_bytes = 40;
constexpr uint64_t num_rows = 2'000'000;

class counted_job {
 public:
  explicit counted_job(const char* nodes) : rig_(nodes, scratch_place(false)), counters_(graph().nodes.size()) {}

  const plan::graph& graph() { return rig_.job().graph(); }
  node_counters& of(const std::string& id) {
    for (size_t i = 0; i < graph().nodes.size(); ++i)
      if (graph().nodes[i].id == id) return counters_[i];
    ADD_FAILURE() << "no node " << id;
    return counters_.front();
  }
  std::vector<metrics::pipeline_work> work(size_t phase) {
    return work_of(graph(), rig_.job().plan(), counters_, phase);
  }

 private:
  job_rig rig_;
  std::deque<node_counters> counters_;
};

// Half of the rows were drawn and taken in.
void draw_half(counted_job& job) {
  const uint64_t expected = job.graph().nodes.front().outputs[0].estimate.num_bytes;
  job.of("drawn").bytes_out = expected / 2;
  job.of("sorted").bytes_in = expected / 2;
}

TEST(pipeline_progress, what_is_done_has_cost_what_was_measured) {
  counted_job job(sorted_texts);
  draw_half(job);
  job.of("drawn").busy_ns = 3'000'000'000;
  job.of("sorted").busy_ns = 11'000'000'000;
  const std::vector<metrics::pipeline_work> work = job.work(0);
  ASSERT_EQ(work.size(), 2U);
  EXPECT_NEAR(work[0].all.processor, 28, 0.1);
  EXPECT_NEAR(metrics::add_up(work, 0).asked.processor, 14, 0.1);
}

// Texts may be compared in an instant or hardly at all: the making of runs has shown it.
TEST(pipeline_progress, a_merge_is_expected_to_take_what_the_making_of_its_runs_says) {
  const auto behind = [](uint64_t busy_of_sort) {
    counted_job job(sorted_texts);
    draw_half(job);
    job.of("drawn").busy_ns = 3'000'000'000;
    job.of("sorted").busy_ns = busy_of_sort * 1'000'000'000;
    return job.work(0)[1].all.processor;
  };
  // A sink that has not begun takes its share of both.
  const double of_one_second = (behind(40) - behind(10)) / 30;
  EXPECT_GT(of_one_second, 0.1);
  EXPECT_NEAR(behind(100), behind(10) + 90 * of_one_second, 1e-6);
}

TEST(pipeline_progress, of_the_merge_that_runs_its_own_time_counts_too) {
  counted_job job(sorted_texts);
  job.of("drawn").bytes_out = job.of("sorted").bytes_in = num_rows * row_bytes;
  job.of("sorted").bytes_out = job.of("write").bytes_in = num_rows * row_bytes / 2;
  job.of("drawn").busy_ns = 3'000'000'000;
  job.of("sorted").busy_ns = 11'000'000'000;
  job.of("write").busy_ns = 2'000'000'000;
  const std::vector<metrics::pipeline_work> work = job.work(1);
  EXPECT_NEAR(metrics::add_up(work, 1).asked.processor, 16, 0.1);
  EXPECT_GT(work[1].all.processor, 4);  // the sink alone
}

TEST(pipeline_progress, without_a_measurement_there_are_only_proportions) {
  counted_job job(sorted_texts);
  const std::vector<metrics::pipeline_work> work = job.work(0);
  EXPECT_GT(work[0].all.processor, 0);
  EXPECT_GT(work[1].all.processor, 0);
  EXPECT_EQ(metrics::add_up(work, 0).asked.processor, 0);
}

}  // namespace
}  // namespace flowrun::exec
