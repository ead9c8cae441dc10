#include "engine/exec/job_report.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/calendar.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/base/excerpt.h"
#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/exec/report_structure.h"
#include "engine/exec/verdict.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/file_rules.h"
#include "engine/sort/conservation.h"
#include "specs/job_name.h"
#include "specs/json_document.h"
#include "specs/value.h"

namespace flowrun::exec {

namespace {

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Nodes of bodies follow the node they are inside of: "levels.reached".
void add_nodes(RunReport& report, const report_input& in, const graph_record& record,
               std::set<const plan::graph*>& seen);

void add_node(RunReport& report, const report_input& in, const graph_record& record, size_t index) {
  const plan::node& n = record.graph->nodes[index];
  const node_counters& c = record.counters[index];
  const std::string id = plan::full_name(*record.graph, n);
  auto* out = report.add_nodes();
  out->set_id(id);
  out->set_op(n.declaration->name);
  out->set_role(plan::to_string(n.role()));
  out->set_inside(record.graph->path);
  out->set_iterations(c.iterations);
  const bool sink = n.outputs.empty();
  out->set_rows(sink ? c.rows_in : c.rows_out);
  out->set_bytes(sink ? c.bytes_in : c.bytes_out);
  out->set_rows_in(c.rows_in);
  out->set_busy_seconds(seconds(c.busy_ns));
  auto* blocked = out->mutable_blocked_seconds();
  blocked->set_io(seconds(c.blocked_ns[static_cast<size_t>(blocked_on::io)]));
  blocked->set_memory(seconds(c.blocked_ns[static_cast<size_t>(blocked_on::memory)]));
  blocked->set_input(seconds(c.blocked_ns[static_cast<size_t>(blocked_on::input)]));
  blocked->set_output(seconds(c.blocked_ns[static_cast<size_t>(blocked_on::output)]));
  out->set_rejected_rows(c.rejected_rows);
  out->set_file_read_bytes(c.file_read_bytes);
  out->set_file_written_bytes(c.file_written_bytes);
  for (const auto& [name, count] : c.named.values()) (*out->mutable_counts())[name] = count;
  const int fused = record.fused_with[index];
  if (fused >= 0) out->set_fused_with(plan::full_name(*record.graph, record.graph->nodes[static_cast<size_t>(fused)]));
  auto* actual = report.mutable_actual();
  actual->set_input_bytes(actual->input_bytes() + c.file_read_bytes);
  actual->set_output_bytes(actual->output_bytes() + c.file_written_bytes);
  if (n.role() != plan::operator_role::breaker) return;
  auto* sort = report.add_sorts();
  sort->set_id(id);
  sort->set_runs(c.runs);
  sort->set_merge_passes(c.merge_passes);
  sort->set_fan_in(c.fan_in);
  sort->set_run_bytes(c.run_bytes);
  sort->set_stored_run_bytes(c.stored_run_bytes);
  if (const auto level = static_cast<sort::conservation>(c.verified_as.load()); level != sort::conservation::unknown) {
    auto* verified = sort->mutable_verified();
    verified->set_rows_in(c.verified_rows_in);
    verified->set_rows_out(c.verified_rows_out);
    verified->set_compared(std::string(sort::to_string(level)));
  }
  for (const plan::sort_prediction& p : in.plan->sorts) {
    if (record.graph != in.graph || p.node != static_cast<int>(index)) continue;
    sort->set_predicted_runs(p.runs);
    sort->set_predicted_merge_passes(p.merge_passes);
    sort->set_compressed(p.compressed);
  }
}

void add_nodes(RunReport& report, const report_input& in, const graph_record& record,
               std::set<const plan::graph*>& seen) {
  if (!seen.insert(record.graph).second) return;
  for (size_t i = 0; i < record.graph->nodes.size(); ++i) {
    const plan::node& n = record.graph->nodes[i];
    if (plan::is_internal(n)) continue;
    add_node(report, in, record, i);
    for (const auto& body : n.bodies)
      for (const graph_record* r : in.records)
        if (r->graph == body.get()) add_nodes(report, in, *r, seen);
  }
}

std::string note_of(const RunReport::Sort& s) {
  const char* const verified = s.has_verified() ? ", verified" : "";
  if (s.runs() == 0) return std::string("stayed in memory") + verified;
  std::string out = fmt::format("{} runs, {} merge pass{}, fan-in {}", s.runs(), s.merge_passes(),
                                s.merge_passes() == 1 ? "" : "es", s.fan_in());
  if (s.compressed() && s.run_bytes() > 0)
    out += fmt::format(", compressed to {:.0f} %",
                       100 * static_cast<double>(s.stored_run_bytes()) / static_cast<double>(s.run_bytes()));
  return out + verified;
}

void describe_output_by_path(const plan::graph& graph, RunReport::Output& out) {
  for (const plan::node& n : graph.nodes) {
    if (plan::is_internal(n) || n.declaration->role != plan::operator_role::sink) continue;
    for (const plan::file_use& use : plan::files_of(n))
      if (use.path == out.path() || (use.path == "-" && out.path() == "/dev/stdout"))
        return describe_output(graph, n, out);
  }
}

void add_files(const io::output_files& from, RunReport::Output& out) {
  out.set_num_files(from.num_files);
  for (const io::output_files::listed& file : from.files) {
    auto* listed = out.add_files();
    listed->set_path(file.path);
    listed->set_rows(file.num_rows);
    listed->set_bytes(file.num_bytes);
  }
}

surroundings around(const report_input& in) {
  surroundings out;
  out.usable_cores = in.usable_cores;
  out.other_memory = plan::memory_for_fewer_passes(*in.graph, in.plan->resources, in.usable_memory);
  for (const plan::node& n : in.graph->nodes)
    for (const plan::file_use& use : plan::files_of(n)) out.paths.emplace(n.id, use.path);
  return out;
}

}  // namespace

void describe_output(const plan::graph& graph, const plan::node& sink, RunReport::Output& out) {
  out.set_node(sink.id);
  out.set_op(sink.declaration->name);
  if (sink.facts.partitions)
    for (const std::string& column : sink.facts.partitions->columns) out.add_path_columns(column);
  for (const record::column& c : plan::written_columns(graph, sink)) {
    auto* column = out.add_columns();
    column->set_name(c.name);
    column->set_type(record::to_string(c.type));
  }
  for (const specs::Entry& entry : sink.spec->with().map().entries()) {
    if (entry.key() == "path") continue;
    const auto add = [&out](const std::string& name, const specs::Value& value) {
      if (!specs::is_scalar(value)) return;
      auto* setting = out.add_with();
      setting->set_name(name);
      setting->set_value(specs::text(value));
    };
    add(entry.key(), entry.value());
    for (const specs::Entry& inner : entry.value().map().entries()) add(entry.key() + "." + inner.key(), inner.value());
  }
}

std::string report_time(int64_t us) {
  char text[calendar::max_timestamp_chars];
  return {text, calendar::write_timestamp(us, text)};
}

RunReport make_report(const report_input& in) {
  RunReport report;
  report.set_job(specs::job_name(*in.graph->job));
  report.set_format(report_format);
  report.set_host(host_name());
  if (in.start_us != 0) report.set_start(report_time(in.start_us));
  if (in.end_us != 0) report.set_end(report_time(in.end_us));
  report.set_status(in.succeeded ? "succeeded" : in.end_us == 0 && in.problem == nullptr ? "running" : "failed");
  if (in.problem != nullptr) {
    report.set_error(in.problem->what());
    const auto* known = dynamic_cast<const error*>(in.problem);
    if (known != nullptr && known->kind() == error_kind::cancelled) report.set_status("cancelled");
  }
  report.set_wall_seconds(in.wall_seconds);
  report.set_cpu_seconds(in.cpu_seconds);
  report.set_peak_memory_bytes(peak_resident_bytes());
  report.set_memory_budget_bytes(in.plan->resources.memory_bytes);
  report.set_threads(in.plan->resources.threads);
  report.set_io_backend(in.io_backend);
  auto* actual = report.mutable_actual();
  for (const block::disk_usage& d : in.disks) {
    auto* disk = report.add_disks();
    disk->set_path(d.path);
    disk->set_read_bytes(d.transfers.reads.num_bytes);
    disk->set_written_bytes(d.transfers.writes.num_bytes);
    disk->set_busy_seconds(seconds(d.transfers.busy_ns));
    disk->set_wait_seconds(seconds(d.transfers.reads.wait_ns + d.transfers.writes.wait_ns));
    disk->set_read_wait_seconds(seconds(d.transfers.reads.wait_ns));
    disk->set_write_wait_seconds(seconds(d.transfers.writes.wait_ns));
    disk->set_read_operations(d.transfers.reads.num_operations);
    disk->set_write_operations(d.transfers.writes.num_operations);
    disk->set_read_service_seconds(seconds(d.transfers.reads.service_ns));
    disk->set_write_service_seconds(seconds(d.transfers.writes.service_ns));
    disk->set_weight(d.weight);
    disk->set_peak_used_bytes(d.peak_used);
    disk->set_used_bytes(d.used);
    disk->set_limit_bytes(d.limit);
    disk->set_in_flight(d.transfers.reads.in_flight + d.transfers.writes.in_flight);
    disk->set_errors(d.transfers.reads.num_errors + d.transfers.writes.num_errors);
    actual->set_scratch_read_bytes(actual->scratch_read_bytes() + d.transfers.reads.num_bytes);
    actual->set_scratch_written_bytes(actual->scratch_written_bytes() + d.transfers.writes.num_bytes);
  }
  actual->set_peak_scratch_bytes(in.peak_scratch_bytes);
  actual->set_peak_memory_bytes(report.peak_memory_bytes());
  std::set<const plan::graph*> seen;
  add_nodes(report, in, *in.records.front(), seen);
  add_structure(in, report);
  auto* predicted = report.mutable_predicted();
  predicted->set_input_bytes(in.plan->predicted_input_bytes);
  predicted->set_scratch_written_bytes(in.plan->predicted_scratch_written);
  predicted->set_scratch_read_bytes(in.plan->predicted_scratch_read);
  predicted->set_output_bytes(in.plan->predicted_output_bytes);
  predicted->set_peak_scratch_bytes(in.plan->predicted_peak_scratch);
  predicted->set_peak_memory_bytes(in.plan->predicted_peak_memory);
  report.set_prediction_known(in.plan->prediction_known);
  for (const specs::Param& p : in.graph->job->params()) {
    auto* parameter = report.add_parameters();
    parameter->set_name(p.name());
    parameter->set_value(p.value());
  }
  for (const reported_value& r : in.results) {
    auto* result = report.add_results();
    result->set_node(r.node);
    result->set_name(r.name);
    result->set_value(r.value);
  }
  for (const io::output_result& r : in.outputs) {
    auto* output = report.add_outputs();
    output->set_path(r.path);
    output->set_state(std::string(io::to_string(r.state)));
    if (r.files) add_files(*r.files, *output);
    if (r.content_hash) output->set_hash(fmt::format("{:016x}", *r.content_hash));
    describe_output_by_path(*in.graph, *output);
  }
  if (in.end_us == 0) return report;
  *report.mutable_limit() = limit_of(report, around(in));
  report.set_verdict(sentence_of(report.limit()));
  return report;
}

namespace {

// What a job took, beside what it was predicted to take.
std::string totals_text(const RunReport& report) {
  std::string out;
  auto line = [&](const char* what, bool known, uint64_t predicted, uint64_t actual) {
    out += fmt::format("  {:<22} {:>12} {:>12}\n", what, known ? format_bytes(predicted) : "unknown",
                       format_bytes(actual));
  };
  // Sizes behind a join, say, can't be known before the run.
  const bool known = report.prediction_known();
  const auto& p = report.predicted();
  const auto& a = report.actual();
  out += fmt::format("\n  {:<22} {:>12} {:>12}\n", "", "predicted", "actual");
  line("input read", known || p.input_bytes() > 0, p.input_bytes(), a.input_bytes());
  line("scratch written", known, p.scratch_written_bytes(), a.scratch_written_bytes());
  line("scratch read", known, p.scratch_read_bytes(), a.scratch_read_bytes());
  line("peak scratch", known, p.peak_scratch_bytes(), a.peak_scratch_bytes());
  line("output written", known, p.output_bytes(), a.output_bytes());
  line("peak memory", true, p.peak_memory_bytes(), a.peak_memory_bytes());
  return out;
}

// The same of a job on a cluster, of which nothing is predicted: stages, and what their tasks took together.
std::string stages_text(const RunReport& report) {
  std::string out =
      fmt::format("\n  {:<5} {:>6} {:>9} {:>9} {:>9}  {}\n", "stage", "tasks", "time", "median", "slowest", "nodes");
  for (int i = 0; i < report.stages_size(); ++i) {
    const auto& s = report.stages(i);
    out += fmt::format("  {:<5} {:>6} {:>9} {:>9} {:>9}  {}\n", i + 1, format_count(s.tasks()),
                       format_duration(s.seconds()), format_duration(s.median_seconds()),
                       format_duration(s.slowest_seconds()), fmt::join(s.nodes(), ", "));
    if (!s.slowest_because().empty())
      out += fmt::format("  {:<5} task {} was the slowest: {}\n", "", s.slowest_task(), s.slowest_because());
  }
  const auto& a = report.actual();
  return out + fmt::format("\n  input read {}, output written {}, scratch written {}, read {}\n",
                           format_bytes(a.input_bytes()), format_bytes(a.output_bytes()),
                           format_bytes(a.scratch_written_bytes()), format_bytes(a.scratch_read_bytes()));
}

// A text of many lines' length is in the report as JSON.
std::string shortened(const std::string& value) {
  constexpr size_t longest = 200;
  const std::optional<std::string> text = value.size() > longest ? unquoted(value) : std::nullopt;
  return text ? fmt::format("{} ({} bytes)", quoted_excerpt(*text, longest), text->size()) : value;
}

}  // namespace

std::string report_text(const RunReport& report) {
  std::string out;
  for (const auto& r : report.results()) out += fmt::format("{}.{} = {}\n", r.node(), r.name(), shortened(r.value()));
  const bool of_tasks = report.stages_size() > 0;
  const std::string budget = report.has_memory_budget_bytes()
                                 ? fmt::format(" (budget{} {})", of_tasks ? " of those at work at once" : "",
                                               format_bytes(report.memory_budget_bytes()))
                                 : "";
  const std::string threads = report.has_threads() ? counted(report.threads(), "thread") + ", " : "";
  out += fmt::format("{}: {} in {}, {} of CPU, {} of memory {}at most{}, {}{}\n", report.job(), report.status(),
                     format_duration(report.wall_seconds()), format_duration(report.cpu_seconds()),
                     format_bytes(report.peak_memory_bytes()), of_tasks ? "in a task " : "", budget, threads,
                     report.io_backend());
  size_t widest = 4;
  for (const auto& n : report.nodes()) widest = std::max(widest, n.id().size());
  out += fmt::format("\n  {:<{}}  {:<16} {:>15} {:>10} {:>9} {:>9} {:>9}  {}\n", "node", widest, "op", "rows", "bytes",
                     "busy", "wait i/o", "wait rows", "notes");
  for (const auto& n : report.nodes()) {
    std::string notes;
    if (!n.fused_with().empty()) notes = "fused with " + n.fused_with();
    if (n.rejected_rows() > 0)
      notes += fmt::format("{}{} rejected", notes.empty() ? "" : ", ", counted(n.rejected_rows(), "row"));
    for (const auto& s : report.sorts())
      if (s.id() == n.id()) notes += note_of(s);
    for (const auto& [name, count] : std::map(n.counts().begin(), n.counts().end()))
      notes += fmt::format("{}{} {}", notes.empty() ? "" : ", ", format_count(count), name);
    const bool fused = !n.fused_with().empty();
    out += fmt::format("  {:<{}}  {:<16} {:>15} {:>10} {:>9} {:>9} {:>9}  {}\n", n.id(), widest, n.op(),
                       fused ? "" : format_count(n.rows()), fused ? "" : format_bytes(n.bytes()),
                       fused ? "" : format_duration(n.busy_seconds()), format_duration(n.blocked_seconds().io()),
                       format_duration(n.blocked_seconds().input() + n.blocked_seconds().output()), notes);
  }
  out += report.stages().empty() ? totals_text(report) : stages_text(report);
  for (const auto& d : report.disks()) {
    if (d.written_bytes() + d.read_bytes() == 0) continue;
    out += fmt::format("  scratch {}: {} written, {} read, busy {}, waited for: writing {}, reading {}\n", d.path(),
                       format_bytes(d.written_bytes()), format_bytes(d.read_bytes()), format_duration(d.busy_seconds()),
                       format_duration(d.write_wait_seconds()), format_duration(d.read_wait_seconds()));
  }
  if (!report.verdict().empty()) out += "  bound by " + report.verdict() + "\n";
  return out;
}

std::string report_json(const RunReport& report) { return specs::json_document(report); }

}  // namespace flowrun::exec
