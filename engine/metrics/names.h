// The ONE list of metric names: what the exporter serves, `flowrun metrics` prints, and dashboards may use (a test of
// dashboards/ reads this file as text, so entries keep the form  X(name, kind, "help", "label,label")).
//
// Base units and `_total` as Prometheus wants them; labels of few values only: node ids, operator names, scratch
// directories. All series have the label job_name beside their own: what several jobs of a machine say can be told
// apart, also where a scrape of files brings all of them under one address.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace flowrun::metrics {

// clang-format off
#define FLOWRUN_METRICS(X) \
  X(flowrun_job_info, gauge, "Always 1; its labels name the job and the version of flowrun.", "version") \
  X(flowrun_job_progress_ratio, gauge, "Share of the job's bytes that have moved, over all passes, from 0 to 1.", "") \
  X(flowrun_job_phase, gauge, "The phase that runs, from 1.", "") \
  X(flowrun_job_phases, gauge, "Phases of the plan.", "") \
  X(flowrun_job_last_progress_timestamp_seconds, gauge, \
    "Unix time at which rows, bytes or iterations were last seen to move.", "") \
  X(flowrun_job_start_timestamp_seconds, gauge, "Unix time at which the run began.", "") \
  X(flowrun_job_end_timestamp_seconds, gauge, "Unix time at which the run ended; only in a --metrics-file.", "") \
  X(flowrun_job_duration_seconds, gauge, "How long the run took; only in a --metrics-file.", "") \
  X(flowrun_job_success, gauge, "1: the run succeeded, 0: it did not; only in a --metrics-file.", "") \
  X(flowrun_job_exit_code, gauge, \
    "The run's exit code, which flowrun explain CODE explains; only in a --metrics-file.", "") \
  X(flowrun_job_last_success_timestamp_seconds, gauge, \
    "Unix time at which a run of the job last succeeded, of which its --metrics-file keeps account; 0: none has.", "") \
  X(flowrun_node_rows_total, counter, "Rows that a node gave on; of a sink: that it took.", "node,op") \
  X(flowrun_node_bytes_total, counter, "Bytes of the rows that a node gave on; of a sink: that it took.", "node,op") \
  X(flowrun_node_busy_seconds_total, counter, "Time that threads spent in a node.", "node,op") \
  X(flowrun_node_blocked_seconds_total, counter, \
    "Time that a node could not proceed, by what it waited for: io, memory, input, output.", "node,op,on") \
  X(flowrun_file_read_bytes_total, counter, "Bytes read from input files.", "node,op") \
  X(flowrun_file_written_bytes_total, counter, "Bytes written to output files.", "node,op") \
  X(flowrun_rejected_rows_total, counter, "Malformed rows that a node dropped or sent to its error port.", "node") \
  X(flowrun_node_count_total, counter, "What the operator of a plugin counts, by the name that it gives.", "node,op,name") \
  X(flowrun_loop_iterations_total, counter, "Iterations of a loop that have ended.", "node") \
  X(flowrun_sort_runs, gauge, "Sorted runs that a sort has made; 0: it stays in memory.", "node") \
  X(flowrun_sort_merge_passes, gauge, "Merge passes of a sort; 0: it stays in memory.", "node") \
  X(flowrun_stage_tasks, gauge, "Tasks of the stage that runs, of a job on a cluster.", "") \
  X(flowrun_stage_tasks_done, gauge, "Of these the tasks that are done.", "") \
  X(flowrun_stage_slowest_task_ratio, gauge, \
    "Of a stage that has ended: the time of its slowest task, divided by the median of its tasks.", "stage") \
  X(flowrun_tasks_done_total, counter, "Tasks that are done, of all stages.", "") \
  X(flowrun_task_attempts_total, counter, \
    "Attempts at the tasks of stages that have ended: more than tasks where workers were lost or slow.", "") \
  X(flowrun_task_rows_total, counter, "Rows that sources and merges of all tasks have given on.", "") \
  X(flowrun_disk_read_bytes_total, counter, "Bytes read from a scratch directory.", "disk") \
  X(flowrun_disk_written_bytes_total, counter, "Bytes written to a scratch directory.", "disk") \
  X(flowrun_disk_busy_seconds_total, counter, "Time with at least one transfer in flight.", "disk") \
  X(flowrun_disk_wait_seconds_total, counter, "Time that computation stood still for a transfer.", "disk,direction") \
  X(flowrun_disk_errors_total, counter, "Transfers that failed.", "disk") \
  X(flowrun_disk_request_seconds, histogram, "Time from submission to completion of a transfer.", "disk,direction") \
  X(flowrun_scratch_used_bytes, gauge, "Bytes in scratch blocks.", "disk") \
  X(flowrun_scratch_limit_bytes, gauge, "The most that scratch may take; absent without a limit.", "disk") \
  X(flowrun_scratch_free_bytes, gauge, \
    "What scratch can still take: the room of the file system, or less where limits say so.", "disk") \
  X(flowrun_memory_used_bytes, gauge, \
    "Bytes of the job's memory budget that the nodes, queues and batches of the running phase were given.", "") \
  X(flowrun_memory_limit_bytes, gauge, "The job's memory budget.", "") \
  X(flowrun_memory_usable_bytes, gauge, \
    "Memory that the process can have: the machine's, or its control group's limit.", "") \
  X(process_resident_memory_bytes, gauge, "Resident memory of the process: budget, program, threads.", "")
// clang-format on

constexpr std::string_view common_label = "job_name";

enum class metric : size_t {
#define FLOWRUN_METRIC(name, kind, help, labels) name,
  FLOWRUN_METRICS(FLOWRUN_METRIC)
#undef FLOWRUN_METRIC
};

enum class metric_kind { counter, gauge, histogram };

struct metric_declaration {
  std::string_view name;
  metric_kind kind;
  std::string_view help;
  std::string_view labels;  // separated by commas; empty: none
};

inline constexpr std::array declarations = {
#define FLOWRUN_METRIC(name, kind, help, labels) metric_declaration{#name, metric_kind::kind, help, labels},
    FLOWRUN_METRICS(FLOWRUN_METRIC)
#undef FLOWRUN_METRIC
};

constexpr const metric_declaration& declaration_of(metric m) { return declarations[static_cast<size_t>(m)]; }

std::string_view to_string(metric_kind kind);

// A table for people: name, kind, labels, help.
std::string list_metrics();

}  // namespace flowrun::metrics
