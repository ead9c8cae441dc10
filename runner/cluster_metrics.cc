#include "runner/cluster_metrics.h"

#include <algorithm>
#include <string>

#include "runner/masking_sink.h"
#include "runner/version.h"

namespace flowrun::runner {

namespace {

using metrics::metric;

void collect_node(const exec::RunReport::Node& n, metrics::sink& into) {
  if (n.iterations() > 0)
    into.value(metric::flowrun_loop_iterations_total, {n.id()}, static_cast<double>(n.iterations()));
  // A node without a stage of its own has nothing to say, nor has one of a stage that is still to come.
  if (n.busy_seconds() == 0 && n.rows_in() == 0 && n.rows() == 0) return;
  const auto add = [&](metric m, double value) { into.value(m, {n.id(), n.op()}, value); };
  add(metric::flowrun_node_rows_total, static_cast<double>(n.rows()));
  add(metric::flowrun_node_bytes_total, static_cast<double>(n.bytes()));
  add(metric::flowrun_node_busy_seconds_total, n.busy_seconds());
  const exec::RunReport::Node::Blocked& blocked = n.blocked_seconds();
  const auto wait = [&](const char* on, double seconds) {
    into.value(metric::flowrun_node_blocked_seconds_total, {n.id(), n.op(), on}, seconds);
  };
  wait("io", blocked.io());
  wait("memory", blocked.memory());
  wait("input", blocked.input());
  wait("output", blocked.output());
  if (n.file_read_bytes() > 0) add(metric::flowrun_file_read_bytes_total, static_cast<double>(n.file_read_bytes()));
  if (n.file_written_bytes() > 0)
    add(metric::flowrun_file_written_bytes_total, static_cast<double>(n.file_written_bytes()));
  if (n.rejected_rows() > 0)
    into.value(metric::flowrun_rejected_rows_total, {n.id()}, static_cast<double>(n.rejected_rows()));
  for (const auto& [name, count] : n.counts())
    into.value(metric::flowrun_node_count_total, {n.id(), n.op(), name}, static_cast<double>(count));
}

}  // namespace

void cluster_metrics::note(const cluster::driver_progress& now, double unix_seconds) {
  const mutex_lock lock(mutex_);
  const auto work = [](const cluster::driver_progress& p) {
    return p.rows + p.bytes_read + p.num_tasks_before + p.num_done;
  };
  if (moved_at_ == 0 || work(now) != work(now_)) moved_at_ = unix_seconds;
  now_ = now;
}

void cluster_metrics::count(const exec::RunReport& so_far) {
  const mutex_lock lock(mutex_);
  counted_ = so_far;
}

void cluster_metrics::collect_totals_locked(metrics::sink& into) const {
  into.value(metric::flowrun_job_info, {std::string(version)}, 1);
  into.value(metric::flowrun_memory_limit_bytes, {}, static_cast<double>(memory_bytes_));
  into.value(metric::flowrun_tasks_done_total, {}, static_cast<double>(now_.num_tasks_before + now_.num_done));
  into.value(metric::flowrun_task_rows_total, {}, static_cast<double>(now_.rows));
  double attempts = 0;
  for (int s = 0; s < counted_.stages_size(); ++s) {
    const exec::RunReport::Stage& stage = counted_.stages(s);
    attempts += stage.attempts();
    if (stage.median_seconds() > 0)
      into.value(metric::flowrun_stage_slowest_task_ratio, {std::to_string(s + 1)},
                 stage.slowest_seconds() / stage.median_seconds());
  }
  into.value(metric::flowrun_task_attempts_total, {}, attempts);
  for (const exec::RunReport::Node& n : counted_.nodes()) collect_node(n, into);
}

void cluster_metrics::collect_totals(metrics::sink& sink) const {
  masking_sink into(sink, mask_);
  const mutex_lock lock(mutex_);
  collect_totals_locked(into);
}

void cluster_metrics::collect(metrics::sink& sink) const {
  masking_sink into(sink, mask_);
  const mutex_lock lock(mutex_);
  const auto stages = static_cast<double>(now_.num_stages);
  if (stages > 0)
    into.value(metric::flowrun_job_progress_ratio, {}, (static_cast<double>(now_.stage) + now_.ratio) / stages);
  into.value(metric::flowrun_job_phase, {}, static_cast<double>(now_.stage + 1));
  into.value(metric::flowrun_job_phases, {}, stages);
  if (moved_at_ > 0) into.value(metric::flowrun_job_last_progress_timestamp_seconds, {}, moved_at_);
  into.value(metric::flowrun_stage_tasks, {}, static_cast<double>(now_.num_tasks));
  into.value(metric::flowrun_stage_tasks_done, {}, static_cast<double>(now_.num_done));
  collect_totals_locked(into);
}

}  // namespace flowrun::runner
