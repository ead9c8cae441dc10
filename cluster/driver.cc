#include "cluster/driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "cluster/cluster.pb.h"
#include "cluster/cluster_report.h"
#include "cluster/cut_points.h"
#include "cluster/output_folder.h"
#include "cluster/output_tree.h"
#include "cluster/stage_job.h"
#include "cluster/stage_progress.h"
#include "cluster/tasks_in_memory.h"
#include "cluster/text_cuts.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"
#include "engine/io/descriptor_stream.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/file_rules.h"
#include "operators/parts/order/reduction.h"

namespace flowrun::cluster {

namespace {

// What a stream's tasks have written, by task.
struct written_stream {
  std::vector<std::string> paths;
  size_t last_reader = 0;  // the last stage that reads it
};

// Workers write how far they are once a second.
constexpr std::chrono::seconds between_readings{1};

bool is_sink(const plan::node& n) { return n.declaration->role == plan::operator_role::sink && !plan::is_internal(n); }

class run {
 public:
  run(const driver_settings& settings, scheduler& tasks, const driver_listener& listener)
      : settings_(settings),
        graph_(*settings.job.graph),
        cut_(settings.job.cut),
        scheduler_(tasks),
        listener_(listener),
        report_(begin_report(graph_)) {}

  ~run() {
    if (!settings_.keeps) return;
    for (const auto& [n, folder] : outputs_) folder->keep();
    for (const auto& [n, tree] : trees_) tree->keep();
  }
  run(const run&) = delete;
  run& operator=(const run&) = delete;

  exec::RunReport carry_out(const std::atomic<bool>& stop) {
    write_plan();
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (is_sink(graph_.nodes[n])) add_output(static_cast<int>(n));
    for (size_t s = 0; s < cut_.all.size(); ++s)
      for (const stage_input& in : cut_.all[s].inputs) streams_[stream_of(in)].last_reader = s;
    for (size_t s = 0; s < cut_.all.size(); ++s) run_stage(s, stop);
    finish_outputs();
    return std::move(report_);
  }

 private:
  const plan::node& at(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  void add_output(int n) {
    const plan::file_use use = plan::files_of(at(n)).front();
    if (use.partitioned)
      trees_.emplace(n, std::make_unique<output_tree>(use.partitioned->directory(), id_));
    else if (output_folder::is_made_at(use.path))
      outputs_.emplace(n, std::make_unique<output_folder>(use.path, id_));
  }

  // Where another process has begun, its plan holds.
  void write_plan() {
    Plan plan;
    if (read_message(settings_.directory.plan(), plan)) {
      id_ = plan.id();
      return;
    }
    id_ = fmt::format("{:08x}", std::random_device()());
    *plan.mutable_job() = *graph_.job;
    for (const bool divides : settings_.job.divides) plan.add_divides(divides);
    plan.set_id(id_);
    Plan again;
    if (!again.ParseFromString(plan.SerializeAsString()))
      throw error(error_kind::bad_spec, "the job has text that isn't UTF-8, which can't be given to tasks",
                  "name files and parameters in UTF-8, or run the job without --cluster");
    write_message(settings_.directory.plan(), plan);
  }

  void run_stage(size_t s, const std::atomic<bool>& stop) {
    StageTasks tasks;
    if (!read_message(settings_.directory.stage(s), tasks)) {
      tasks = tasks_of(s, stop);
      write_message(settings_.directory.stage(s), tasks);
    }
    std::vector<size_t> missing;
    for (size_t task = 0; task < tasks.num_tasks(); ++task)
      if (::access(settings_.directory.done(s, task).c_str(), F_OK) != 0) missing.push_back(task);
    stage_progress progress(tasks.num_tasks());
    for (size_t task = 0; task < tasks.num_tasks(); ++task)
      if (std::find(missing.begin(), missing.end(), task) == missing.end()) finish(s, task, progress);
    tell(s, progress);
    const auto start = std::chrono::steady_clock::now();
    auto read = start;
    const auto finished = [&](size_t task) {
      finish(s, task, progress);
      tell(s, progress);
    };
    const auto waiting = [&] {
      const auto now = std::chrono::steady_clock::now();
      if (now - read >= between_readings) {
        read_progress(settings_.directory, s, progress);
        read = now;
      }
      tell(s, progress);
    };
    scheduler_.run(s, missing, {finished, waiting}, stop);
    rows_before_ += progress.rows();
    bytes_before_ += progress.bytes_read();
    report_stage(s, tasks.num_tasks(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    for (const auto& [stream, written] : streams_)
      if (written.last_reader == s)
        for (const std::string& path : written.paths) ::unlink(path.c_str());
  }

  Done done_of(size_t s, size_t task) const {
    Done done;
    if (!read_message(settings_.directory.done(s, task), done))
      throw error(error_kind::internal, fmt::format("task {} of stage {} ended and isn't done", task + 1, s + 1), "");
    return done;
  }

  void finish(size_t s, size_t task, stage_progress& progress) const {
    progress.finish(task, done_of(s, task).progress());
  }

  std::vector<std::string> names_of(size_t s) const {
    std::vector<std::string> out;
    for (const int n : cut_.all[s].nodes) out.push_back(at(n).id);
    for (const int n : cut_.all[s].runs) out.push_back(at(n).id);
    return out;
  }

  void report_stage(size_t s, size_t num_tasks, double seconds) {
    std::vector<finished_task> finished(num_tasks);
    for (size_t task = 0; task < num_tasks; ++task) {
      const Done done = done_of(s, task);
      take(s, done);
      finished[task] = {done.report().wall_seconds(), done.progress().rows(), 0, done.host()};
    }
    for (const auto& [task, path] : settings_.directory.all_alive(s))
      if (task < num_tasks) ++finished[task].attempts;
    *report_.add_stages() = stage_report(names_of(s), seconds, finished);
    const std::string kept = kept_together_in(s);
    const std::optional<task_skew> skew = skew_of(finished);
    if (kept.empty() || !skew) return;
    listener_.warning(
        fmt::format("stage {}: task {} took {}, half of the tasks {} or less: it had {}, and they {} or fewer; "
                    "rows that are equal in {} come to one task",
                    s + 1, skew->task + 1, format_duration(skew->seconds), format_duration(skew->median_seconds),
                    counted(skew->rows, "row"), format_count(skew->median_rows), kept));
  }

  // By what rows have to come together; empty: they needn't.
  std::string kept_together_in(size_t s) const {
    const stage& st = cut_.all[s];
    for (const stage_input& in : st.inputs) {
      if (in.how != reading::merged || st.kept_together == 0) continue;
      plan::order by = order_of(graph_, in);
      by.resize(std::min(st.kept_together, by.size()));
      return plan::to_string(by);
    }
    return {};
  }

  void tell(size_t s, const stage_progress& progress) const {
    listener_.progress({s, cut_.all.size(), progress.num_done(), progress.num_tasks(), progress.ratio(),
                        rows_before_ + progress.rows(), bytes_before_ + progress.bytes_read(),
                        fmt::format("{}", fmt::join(names_of(s), ", "))});
  }

  StageTasks tasks_of(size_t s, const std::atomic<bool>& stop) {
    const stage& st = cut_.all[s];
    StageTasks out;
    size_t num_tasks = 1;
    if (st.source >= 0) {
      const std::vector<source_piece> pieces =
          at_ends_of_records(at(st.source), settings_.job.pieces[static_cast<size_t>(st.source)], stop);
      num_tasks = pieces.size();
      for (const source_piece& p : pieces) {
        Piece& piece = *out.add_pieces();
        *piece.mutable_paths() = {p.paths.begin(), p.paths.end()};
        for (const auto& [name, text] : p.texts) (*piece.mutable_texts())[name] = text;
      }
    } else if (st.divided && st.merges()) {
      num_tasks = settings_.job.most_tasks;
    }
    for (const stage_input& in : st.inputs) {
      const std::vector<std::string>& paths = streams_.at(stream_of(in)).paths;
      *out.add_inputs()->mutable_paths() = {paths.begin(), paths.end()};
      if (in.how == reading::piece) num_tasks = paths.size();
    }
    out.set_num_tasks(static_cast<uint32_t>(num_tasks));
    set_bounds(st, num_tasks, out);
    return out;
  }

  // Where the tasks' ranges of keys begin in the sorted runs.
  void set_bounds(const stage& st, size_t num_tasks, StageTasks& out) const {
    std::vector<sorted_stream> merged;
    std::vector<int> numbers;
    for (size_t i = 0; i < st.inputs.size(); ++i) {
      const stage_input& in = st.inputs[i];
      if (in.how != reading::merged) continue;
      const record::row_type& type =
          in.runs ? graph_.input_of(at(in.node), 0).type : at(in.node).outputs[static_cast<size_t>(in.port)].type;
      sorted_stream& runs = merged.emplace_back();
      runs.paths = streams_.at(stream_of(in)).paths;
      runs.type = type;
      for (const plan::order_term& term : order_of(graph_, in))
        runs.key.push_back({*type.index_of(term.column), term.descending, term.from, term.length});
      numbers.push_back(static_cast<int>(i));
    }
    if (merged.empty()) return;
    size_t kept = st.kept_together;
    for (const sorted_stream& m : merged) kept = std::min(kept, m.key.size());
    const cut_rows cuts = cut_points(merged, num_tasks, kept);
    for (size_t m = 0; m < merged.size(); ++m)
      for (const auto& by_stream : cuts)
        for (const uint64_t row : by_stream[m]) out.mutable_inputs(numbers[m])->add_bounds(row);
  }

  // What the attempt that was first has written.
  void take(size_t s, const Done& done) {
    const std::vector<stream> written = streams_written(cut_, s);
    FLOWRUN_CHECK(static_cast<size_t>(done.written_size()) == written.size());
    for (size_t i = 0; i < written.size(); ++i) streams_[written[i]].paths.push_back(done.written(static_cast<int>(i)));
    for (const Done::Output& out : done.outputs())
      parts_[out.node()].push_back({out.path(), out.rows(), out.bytes(), out.hash()});
    for (const std::string& warning : done.warnings())
      if (told_.insert(warning).second) listener_.warning(warning);
    add_task(report_, graph_, cut_.all[s], done.report());
    for (const Done::Result& r : done.results()) {
      exec::RunReport::Result& result = *report_.add_results();
      result.set_node(r.node());
      result.set_name(r.name());
      result.set_value(r.value());
    }
  }

  void finish_outputs() {
    for (const auto& [n, folder] : outputs_) folder->finish(report_.job(), parts_[at(n).id]);
    for (const auto& [n, folder] : outputs_) folder->place();
    for (const auto& [n, tree] : trees_) tree->place(parts_[at(n).id].at(0).path);
    for (const auto& [n, folder] : outputs_) {
      exec::RunReport::Output& out = *report_.add_outputs();
      out.set_path(folder->path());
      out.set_state("in place");
      out.set_node(at(n).id);
      out.set_op(at(n).declaration->name);
      out.set_num_files(parts_[at(n).id].size());
    }
  }

  const driver_settings& settings_;
  const plan::graph& graph_;
  const stages& cut_;
  scheduler& scheduler_;
  const driver_listener& listener_;
  exec::RunReport report_;
  std::string id_;
  std::map<stream, written_stream> streams_;
  std::map<int, std::unique_ptr<output_folder>> outputs_;  // by node
  std::map<int, std::unique_ptr<output_tree>> trees_;      // those whose paths name columns
  std::map<std::string, std::vector<output_part>> parts_;  // by node, in the order of the tasks
  std::set<std::string> told_;
  uint64_t rows_before_ = 0, bytes_before_ = 0;  // of the stages that have ended
};

void refuse_what_tasks_lack(const plan::graph& g) {
  for (const plan::node& n : g.nodes) {
    if (plan::is_internal(n)) continue;
    if (is_sink(n) && n.facts.index)
      throw error(
          error_kind::bad_spec,
          fmt::format("'{}' writes an index, which belongs to one file: on a cluster outputs are folders", n.id),
          "leave index out, or run the job without --cluster");
    for (const plan::file_use& use : plan::files_of(n))
      if (use.path == "-" || io::names_descriptor(use.path))
        throw error(error_kind::bad_spec,
                    fmt::format("'{}' {} {}, which tasks of a cluster don't have", n.id,
                                use.writes ? "writes to" : "reads from",
                                use.path == "-" ? use.writes ? "standard output" : "standard input" : use.path),
                    "give a file, or run the job without --cluster");
  }
}

std::string described_input(const plan::graph& g, const stage_input& in, size_t kept_together) {
  const std::string& id = g.nodes[static_cast<size_t>(in.node)].id;
  switch (in.how) {
    case reading::all: return fmt::format("{} of '{}'", in.runs ? "partial results" : "all", id);
    case reading::piece: return fmt::format("a piece of '{}'", id);
    case reading::merged: break;
  }
  plan::order by = order_of(g, in);
  if (kept_together > 0) by.resize(std::min(kept_together, by.size()));
  return fmt::format("a range of {} of '{}'", plan::to_string(by), id);
}

}  // namespace

divided_job divide(std::shared_ptr<const plan::graph> graph, size_t most_tasks,
                   const std::function<int64_t(const std::string&)>& file_bytes, uint64_t memory_bytes) {
  refuse_what_tasks_lack(*graph);
  divided_job out;
  for (const plan::node& n : graph->nodes) {
    out.pieces.push_back(plan::is_internal(n) || n.declaration->role != plan::operator_role::source
                             ? std::vector<source_piece>()
                             : pieces_of(n, most_tasks, file_bytes));
    out.divides.push_back(out.pieces.back().size() > 1 ||
                          (!plan::is_internal(n) && operators::reduces_in_two_steps(*graph, n)));
  }
  out.cut = find_stages(*graph, out.divides);
  for (size_t s = 0; s < out.cut.all.size(); ++s) {
    if (out.cut.all[s].source < 0) continue;
    const auto source = static_cast<size_t>(out.cut.all[s].source);
    const std::optional<size_t> wanted = tasks_in_memory(*graph, out.cut, s, most_tasks, memory_bytes);
    if (wanted.value_or(0) > most_tasks) out.pieces[source] = pieces_of(graph->nodes[source], *wanted, file_bytes);
  }
  out.graph = std::move(graph);
  out.most_tasks = most_tasks;
  return out;
}

exec::RunReport drive(const driver_settings& settings, scheduler& tasks, const driver_listener& listener,
                      const std::atomic<bool>& stop) {
  return run(settings, tasks, listener).carry_out(stop);
}

namespace {

// Of each stage.
std::vector<size_t> num_tasks_of(const divided_job& job) {
  std::vector<size_t> out;
  for (const stage& st : job.cut.all) {
    size_t num_tasks = st.divided && st.merges() ? job.most_tasks : 1;
    if (st.source >= 0) num_tasks = job.pieces[static_cast<size_t>(st.source)].size();
    for (const stage_input& in : st.inputs)
      if (in.how == reading::piece) num_tasks = out[static_cast<size_t>(job.cut.of_node[static_cast<size_t>(in.node)])];
    out.push_back(num_tasks);
  }
  return out;
}

}  // namespace

std::string describe(const divided_job& job) {
  const plan::graph& g = *job.graph;
  const auto id = [&](int n) { return g.nodes[static_cast<size_t>(n)].id; };
  std::string out = fmt::format("on a cluster: {}\n", counted(job.cut.all.size(), "stage"));
  const std::vector<size_t> num_tasks = num_tasks_of(job);
  for (size_t s = 0; s < job.cut.all.size(); ++s) {
    const stage& st = job.cut.all[s];
    std::string tasks = num_tasks[s] == 1 ? "one task" : counted(num_tasks[s], "task");
    if (st.source >= 0) tasks += fmt::format(", pieces of '{}'", id(st.source));
    out += fmt::format("  stage {}: {}\n", s + 1, tasks);
    for (const stage_input& in : st.inputs)
      out += fmt::format("    reads   {}\n", described_input(g, in, st.divided ? st.kept_together : 0));
    std::vector<std::string> names;
    for (const int n : st.nodes) names.push_back(id(n));
    out += fmt::format("    runs    {}\n", fmt::join(names, ", "));
    for (const int n : st.runs)
      out += fmt::format("    {} '{}'\n", job.divides[static_cast<size_t>(n)] ? "reduces rows for" : "sorts   runs of",
                         id(n));
    if (!st.reasons.empty()) out += fmt::format("    whole, because of {}\n", fmt::join(st.reasons, ", "));
  }
  return out;
}

}  // namespace flowrun::cluster
