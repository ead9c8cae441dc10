#include "cluster/driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "cluster/cluster.pb.h"
#include "cluster/cluster_report.h"
#include "cluster/graph_run.h"
#include "cluster/output_folder.h"
#include "cluster/output_tree.h"
#include "cluster/stage_job.h"
#include "cluster/tasks_in_memory.h"
#include "engine/base/error.h"
#include "engine/exec/job_report.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/identify.h"
#include "engine/plan/body_ports.h"
#include "operators/parts/order/reduction.h"
#include "operators/parts/order/row_limit.h"

namespace flowrun::cluster {

namespace {

bool is_sink(const plan::node& n) { return n.declaration->role == plan::operator_role::sink && !plan::is_internal(n); }

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
    for (const auto& body : n.bodies) refuse_what_tasks_lack(*body);
  }
}

bool lies_in(const std::filesystem::path& path, const std::filesystem::path& folder) {
  const auto [a, b] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return a == folder.end() && b != path.end();
}

// Those of the job's nodes, also inside of loops, `if` and calls.
void add_files(const plan::graph& g, std::set<const plan::graph*>& seen, std::vector<plan::file_use>& to) {
  if (!seen.insert(&g).second) return;
  for (const plan::node& n : g.nodes) {
    if (plan::is_internal(n)) continue;
    for (plan::file_use& use : plan::files_of(n)) to.push_back(std::move(use));
    for (size_t i = 0; i == 0 || i < n.bodies.size(); ++i)
      if (const std::shared_ptr<const plan::graph> body = plan::body_of(n, i)) add_files(*body, seen, to);
  }
}

// Each task takes what matters of its rows, and one task makes the result of that. Sorts have two steps of their own.
bool has_two_steps(const plan::graph& g, const plan::node& n) {
  return operators::reduces_in_two_steps(g, n) || operators::rows_that_matter(n);
}

}  // namespace

class driver::work {
 public:
  work(const driver_settings& settings, scheduler& tasks, const driver_listener& listener,
       const std::atomic<bool>& stop)
      : settings_(settings), graph_(*settings.job.graph), job_{settings, tasks, listener, stop, begin_report(graph_)} {}

  void run() {
    try {
      write_plan();
      for (size_t n = 0; n < graph_.nodes.size(); ++n)
        if (is_sink(graph_.nodes[n])) add_output(static_cast<int>(n));
      graph_run(job_, settings_.job, {}).carry_out();
      finish_outputs();
    } catch (...) {
      has_ended_ = true;
      let_go_of_outputs();
      throw;
    }
    has_ended_ = true;
    let_go_of_outputs();
  }

  exec::RunReport report() const { return job_.report_now(has_ended_); }

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
    plan.set_id(id_);
    plan.set_version(settings_.version);
    Plan again;
    if (!again.ParseFromString(plan.SerializeAsString()))
      throw error(error_kind::bad_spec, "the job has text that isn't UTF-8, which can't be given to tasks",
                  "name files and parameters in UTF-8, or run the job without --cluster");
    write_message(settings_.directory.plan(), plan);
  }

  void finish_outputs() {
    for (const auto& [n, folder] : outputs_)
      folder->finish(settings_.shown_name, texts_of(order_of_output(graph_, at(n))), job_.parts[at(n).id]);
    for (const auto& [n, folder] : outputs_) folder->place();
    for (const auto& [n, folder] : outputs_) report_output(n, job_.parts[at(n).id].size());
    for (const auto& [n, tree] : trees_) report_output(n, tree->place(job_.parts[at(n).id].at(0).path));
  }

  void report_output(int n, uint64_t num_files) {
    exec::RunReport::Output& out = *job_.report.add_outputs();
    out.set_path(plan::files_of(at(n)).front().path);
    out.set_state("in place");
    exec::describe_output(graph_, at(n), out);
    out.set_num_files(num_files);
  }

  // What isn't in its place is removed, unless another process is to go on with it.
  void let_go_of_outputs() {
    if (settings_.keeps) {
      for (const auto& [n, folder] : outputs_) folder->keep();
      for (const auto& [n, tree] : trees_) tree->keep();
    }
    outputs_.clear();
    trees_.clear();
  }

  const driver_settings& settings_;
  const plan::graph& graph_;
  job_run job_;
  bool has_ended_ = false;
  std::string id_;
  std::map<int, std::unique_ptr<output_folder>> outputs_;  // by node
  std::map<int, std::unique_ptr<output_tree>> trees_;      // those whose paths name columns
};

void check_outputs(const plan::graph& g, std::vector<plan::file_use> own) {
  std::vector<plan::file_use> all = std::move(own);
  std::set<const plan::graph*> seen;
  add_files(g, seen, all);
  std::vector<std::filesystem::path> places;
  places.reserve(all.size());
  for (const plan::file_use& use : all)
    places.emplace_back(io::resolved_path(use.partitioned ? use.partitioned->directory() + "/x" : use.path));
  for (const plan::node& n : g.nodes) {
    if (!is_sink(n)) continue;
    const plan::file_use folder = plan::files_of(n).front();
    if (folder.partitioned || !output_folder::is_made_at(folder.path)) continue;
    const std::filesystem::path place = io::resolved_path(folder.path);
    for (size_t k = 0; k < all.size(); ++k)
      if (lies_in(places[k], place))
        throw error(error_kind::bad_spec,
                    fmt::format("{} {} {}, which lies in {}: on a cluster that is a folder, which {} makes anew",
                                all[k].who, all[k].writes ? "writes" : "reads", all[k].path, folder.path, folder.who),
                    "give one of them another path, or run the job without --cluster");
  }
}

divided_job divide(std::shared_ptr<const plan::graph> graph, size_t most_tasks,
                   std::function<int64_t(const std::string&)> file_bytes, uint64_t memory_bytes) {
  refuse_what_tasks_lack(*graph);
  divided_job out;
  for (const plan::node& n : graph->nodes) {
    out.pieces.push_back(plan::is_internal(n) || n.declaration->role != plan::operator_role::source
                             ? std::vector<source_piece>()
                             : pieces_of(n, most_tasks, file_bytes));
    out.divides.push_back(out.pieces.back().size() > 1 || (!plan::is_internal(n) && has_two_steps(*graph, n)));
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
  out.file_bytes = std::move(file_bytes);
  return out;
}

driver::driver(const driver_settings& settings, scheduler& tasks, const driver_listener& listener,
               const std::atomic<bool>& stop)
    : work_(std::make_unique<work>(settings, tasks, listener, stop)) {}

driver::~driver() = default;

void driver::run() { work_->run(); }

exec::RunReport driver::report() const { return work_->report(); }

}  // namespace flowrun::cluster
