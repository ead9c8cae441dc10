#include "engine/metrics/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace flowrun::metrics {
namespace {

TEST(names, follow_the_conventions_of_prometheus) {
  std::set<std::string_view> seen;
  for (const metric_declaration& d : declarations) {
    EXPECT_TRUE(seen.insert(d.name).second) << d.name;
    EXPECT_TRUE(d.name.starts_with("flowrun_") || d.name.starts_with("process_")) << d.name;
    EXPECT_EQ(d.name.ends_with("_total"), d.kind == metric_kind::counter) << d.name;
    EXPECT_TRUE(d.help.ends_with('.')) << d.name;
    for (const char* unit : {"_ms", "_ns", "_kb", "_mib", "_percent"})
      EXPECT_EQ(d.name.find(unit), std::string_view::npos) << d.name;
    EXPECT_EQ(d.labels.find(' '), std::string_view::npos) << d.name;
  }
}

TEST(names, are_those_that_the_specification_promises) {
  std::set<std::string_view> names;
  for (const metric_declaration& d : declarations) names.insert(d.name);
  for (const char* name :
       {"flowrun_node_rows_total", "flowrun_node_bytes_total", "flowrun_node_busy_seconds_total",
        "flowrun_node_blocked_seconds_total", "flowrun_sort_runs", "flowrun_sort_merge_passes",
        "flowrun_disk_read_bytes_total", "flowrun_disk_written_bytes_total", "flowrun_disk_request_seconds",
        "flowrun_disk_errors_total", "flowrun_scratch_used_bytes", "flowrun_scratch_limit_bytes",
        "flowrun_rejected_rows_total", "flowrun_loop_iterations_total", "flowrun_memory_used_bytes",
        "flowrun_memory_limit_bytes", "process_resident_memory_bytes", "flowrun_job_progress_ratio",
        "flowrun_job_last_success_timestamp_seconds"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(names, are_found_by_their_enumerator) {
  EXPECT_EQ(declaration_of(metric::flowrun_sort_runs).name, "flowrun_sort_runs");
  EXPECT_EQ(declaration_of(metric::flowrun_disk_request_seconds).kind, metric_kind::histogram);
  EXPECT_EQ(declaration_of(metric::flowrun_node_rows_total).labels, "node,op");
}

TEST(names, list_has_one_line_each) {
  const std::string list = list_metrics();
  EXPECT_EQ(static_cast<size_t>(std::count(list.begin(), list.end(), '\n')), declarations.size());
  EXPECT_THAT(list, testing::HasSubstr("flowrun_node_rows_total{job_name,node,op}"));
}

}  // namespace
}  // namespace flowrun::metrics
