#include "runner/job_metrics.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <optional>

#include "engine/base/machine.h"
#include "engine/plan/body_ports.h"
#include "runner/masking_sink.h"
#include "runner/version.h"

namespace flowrun::runner {

namespace {

using metrics::metric;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

metrics::histogram_value histogram_of(const io::transfer_statistics& s) {
  metrics::histogram_value out;
  for (size_t i = 0; i + 1 < s.num_buckets; ++i) out.upper_bounds.push_back(seconds(s.latency_bound_ns(i)));
  out.counts.assign(s.latency.begin(), s.latency.end());
  out.sum = seconds(s.service_ns);
  return out;
}

// A stall is a matter of minutes, so the counters of all nodes needn't be added up more often.
constexpr double seconds_between_looks = 1;

// What the file system of a scratch directory has left. Empty where nobody can tell, as for scratch in memory.
std::optional<uint64_t> room_of(const std::string& directory) {
  struct ::statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) return std::nullopt;
  return uint64_t{space.f_bavail} * space.f_frsize;
}

// Of the budget, in a phase (from 1). Never more than the budget.
uint64_t memory_given(const plan::physical_plan& plan, size_t phase) {
  if (phase == 0 || phase > plan.phases.size()) return 0;
  const plan::phase& p = plan.phases[phase - 1];
  return std::min(p.memory_bytes + p.batches_bytes + p.held_bytes, plan.resources.memory_bytes);
}

}  // namespace

// A number that grows as long as the job isn't stuck, whatever it does: a merge pass gives no rows on, a loop of small
// data moves no bytes of files.
double job_metrics::work_done(const exec::job_progress& now) const {
  double out = static_cast<double>(now.phase) + static_cast<double>(now.rows_done) + now.work.done;
  for (const exec::graph_record& record : job_.records())
    for (const exec::node_counters& c : record.counters)
      out += static_cast<double>(c.rows_in + c.rows_out + c.iterations + c.file_read_bytes + c.file_written_bytes);
  for (const block::disk_usage& d : job_.disks())
    out += static_cast<double>(d.transfers.reads.num_bytes + d.transfers.writes.num_bytes);
  return out;
}

void job_metrics::note(const exec::job_progress& now, double unix_seconds) {
  ratio_ = now.done_ratio;
  phase_ = std::min(now.phase + 1, now.num_phases);
  if (unix_seconds - looked_at_ < seconds_between_looks) return;
  looked_at_ = unix_seconds;
  const double work = work_done(now);
  if (work == work_seen_) return;
  work_seen_ = work;
  moved_at_ = unix_seconds;
}

void job_metrics::collect_nodes(metrics::sink& into) const {
  for (const exec::graph_record& record : job_.records()) collect_graph(record, into);
}

// Nodes of bodies have the same names as in the report: "levels.reached".
void job_metrics::collect_graph(const exec::graph_record& record, metrics::sink& into) const {
  const plan::graph& g = *record.graph;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const plan::node& n = g.nodes[i];
    const exec::node_counters& c = record.counters[i];
    const std::string id = plan::full_name(g, n);
    if (c.iterations > 0) into.value(metric::flowrun_loop_iterations_total, {id}, static_cast<double>(c.iterations));
    if (plan::is_internal(n)) continue;
    const metrics::label_values labels = {id, n.declaration->name};
    const bool sink = n.outputs.empty();
    // A node without a stage of its own (its expressions run in a neighbour's program) has nothing to say.
    if (c.busy_ns == 0 && c.rows_in == 0 && c.rows_out == 0) continue;
    const auto add = [&](metric m, double value) { into.value(m, labels, value); };
    add(metric::flowrun_node_rows_total, static_cast<double>(sink ? c.rows_in : c.rows_out));
    add(metric::flowrun_node_bytes_total, static_cast<double>(sink ? c.bytes_in : c.bytes_out));
    add(metric::flowrun_node_busy_seconds_total, seconds(c.busy_ns));
    constexpr const char* reasons[] = {"io", "memory", "input", "output"};  // as blocked_on
    for (size_t why = 0; why < std::size(reasons); ++why)
      into.value(metric::flowrun_node_blocked_seconds_total, {id, n.declaration->name, reasons[why]},
                 seconds(c.blocked_ns[why]));
    if (c.file_read_bytes > 0) add(metric::flowrun_file_read_bytes_total, static_cast<double>(c.file_read_bytes));
    if (c.file_written_bytes > 0)
      add(metric::flowrun_file_written_bytes_total, static_cast<double>(c.file_written_bytes));
    if (n.declaration->has_error_port)
      into.value(metric::flowrun_rejected_rows_total, {id}, static_cast<double>(c.rejected_rows));
    for (const auto& [name, count] : c.named.values())
      into.value(metric::flowrun_node_count_total, {id, n.declaration->name, name}, static_cast<double>(count));
    if (n.role() == plan::operator_role::breaker) {
      into.value(metric::flowrun_sort_runs, {id}, static_cast<double>(c.runs));
      into.value(metric::flowrun_sort_merge_passes, {id}, static_cast<double>(c.merge_passes));
    }
  }
}

void job_metrics::collect_disks(metrics::sink& into) const {
  for (const block::disk_usage& d : job_.disks()) {
    const io::disk_snapshot& t = d.transfers;
    into.value(metric::flowrun_disk_read_bytes_total, {d.path}, static_cast<double>(t.reads.num_bytes));
    into.value(metric::flowrun_disk_written_bytes_total, {d.path}, static_cast<double>(t.writes.num_bytes));
    into.value(metric::flowrun_disk_busy_seconds_total, {d.path}, seconds(t.busy_ns));
    into.value(metric::flowrun_disk_wait_seconds_total, {d.path, "read"}, seconds(t.reads.wait_ns));
    into.value(metric::flowrun_disk_wait_seconds_total, {d.path, "write"}, seconds(t.writes.wait_ns));
    into.value(metric::flowrun_disk_errors_total, {d.path},
               static_cast<double>(t.reads.num_errors + t.writes.num_errors));
    into.histogram(metric::flowrun_disk_request_seconds, {d.path, "read"}, histogram_of(t.reads));
    into.histogram(metric::flowrun_disk_request_seconds, {d.path, "write"}, histogram_of(t.writes));
  }
}

void job_metrics::collect_scratch(metrics::sink& into) const {
  const std::vector<block::disk_usage> disks = job_.disks();
  uint64_t used = 0;
  for (const block::disk_usage& d : disks) used += d.used;
  for (const block::disk_usage& d : disks) {
    into.value(metric::flowrun_scratch_used_bytes, {d.path}, static_cast<double>(d.used));
    if (d.limit > 0) into.value(metric::flowrun_scratch_limit_bytes, {d.path}, static_cast<double>(d.limit));
    std::optional<uint64_t> free = room_of(d.path);
    // Blocks that were freed are used again before the file grows.
    if (free) *free += d.reserved - std::min(d.reserved, d.used);
    if (d.limit > 0) free = std::min(free.value_or(UINT64_MAX), d.limit - std::min(d.limit, d.used));
    if (scratch_limit_ > 0) free = std::min(free.value_or(UINT64_MAX), scratch_limit_ - std::min(scratch_limit_, used));
    if (free) into.value(metric::flowrun_scratch_free_bytes, {d.path}, static_cast<double>(*free));
  }
}

void job_metrics::collect_totals(metrics::sink& sink) const {
  masking_sink into(sink, mask_);
  into.value(metric::flowrun_job_info, {std::string(version)}, 1);
  into.value(metric::flowrun_memory_limit_bytes, {}, static_cast<double>(job_.plan().resources.memory_bytes));
  collect_nodes(into);
  collect_disks(into);
}

void job_metrics::collect(metrics::sink& sink) const {
  masking_sink into(sink, mask_);
  const plan::physical_plan& plan = job_.plan();
  into.value(metric::flowrun_job_progress_ratio, {}, ratio_);
  into.value(metric::flowrun_job_phase, {}, static_cast<double>(phase_));
  if (moved_at_ > 0) into.value(metric::flowrun_job_last_progress_timestamp_seconds, {}, moved_at_);
  into.value(metric::flowrun_job_phases, {}, static_cast<double>(plan.phases.size()));
  const size_t phase = phase_;
  into.value(metric::flowrun_memory_used_bytes, {}, static_cast<double>(memory_given(plan, phase)));
  into.value(metric::flowrun_memory_usable_bytes, {}, static_cast<double>(usable_memory()));
  into.value(metric::process_resident_memory_bytes, {}, static_cast<double>(resident_bytes()));
  collect_scratch(into);
  collect_totals(sink);
}

}  // namespace flowrun::runner
