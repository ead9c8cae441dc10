#include "cluster/driver.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>

#include "cluster/cluster.pb.h"
#include "cluster/cluster_report.h"
#include "cluster/damaged_file.h"
#include "cluster/graph_run.h"
#include "cluster/input_files.h"
#include "cluster/output_folder.h"
#include "cluster/output_tree.h"
#include "cluster/stage_job.h"
#include "cluster/tasks_in_memory.h"
#include "engine/base/error.h"
#include "engine/exec/job_report.h"
#include "engine/io/descriptor_stream.h"
#include "engine/io/followed_path.h"
#include "engine/io/identify.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/file_rules.h"
#include "operators/parts/order/reduction.h"
#include "operators/parts/order/row_limit.h"

namespace flowrun::cluster {

namespace {

bool is_sink(const plan::node& n) { return n.declaration->role == plan::operator_role::sink && !plan::is_internal(n); }

// What a task that is tried again can't read again, or what several tasks would write at the same time.
void refuse_streams(const plan::node& n, const plan::file_use& use) {
  std::error_code ignored;
  const file_identity file = io::identify(use.path, use.writes);
  if (use.writes ? !file.in_place || std::filesystem::is_directory(use.path, ignored) : !file.read_once) return;
  throw error(error_kind::bad_spec,
              fmt::format("'{}' {} {}, {}", n.id, use.writes ? "writes to" : "reads from", use.path,
                          use.writes ? "which is no file: several tasks of a cluster would write into it at once"
                                     : "a pipe: a task of a cluster that is tried again can't read it again"),
              "give a file, or run the job without --cluster");
}

void refuse_what_tasks_lack(const plan::graph& g) {
  for (const plan::node& n : g.nodes) {
    if (plan::is_internal(n)) continue;
    if (is_sink(n) && n.facts.index)
      throw error(
          error_kind::bad_spec,
          fmt::format("'{}' writes an index, which belongs to one file: on a cluster outputs are folders", n.id),
          "leave index out, or run the job without --cluster");
    for (const plan::file_use& use : plan::files_of(n)) {
      if (use.path == "-" || io::names_descriptor(io::follow_links(use.path).path))
        throw error(error_kind::bad_spec,
                    fmt::format("'{}' {} {}, which tasks of a cluster don't have", n.id,
                                use.writes ? "writes to" : "reads from",
                                use.path == "-" ? use.writes ? "standard output" : "standard input" : use.path),
                    "give a file, or run the job without --cluster");
      refuse_streams(n, use);
    }
    for (const auto& body : n.bodies) refuse_what_tasks_lack(*body);
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
    } catch (const damaged_file&) {
      end(false);
      throw;
    } catch (...) {
      end(settings_.keeps);
      throw;
    }
    end(settings_.keeps);
  }

  exec::RunReport report() const { return job_.report_now(has_ended_); }

 private:
  const plan::node& at(int n) const { return graph_.nodes[static_cast<size_t>(n)]; }

  void add_output(int n) {
    const plan::file_use use = plan::files_of(at(n)).front();
    if (use.partitioned)
      trees_.emplace(n, make_tree(use.partitioned->directory()));
    else if (output_folder::is_made_at(use.path))
      outputs_.emplace(n, std::make_unique<output_folder>(use.path, id_));
  }

  std::unique_ptr<output_tree> make_tree(const std::string& directory) const {
    const auto beside =
        std::find_if(trees_.begin(), trees_.end(), [&](const auto& other) { return other.second->is_in(directory); });
    return std::make_unique<output_tree>(directory, id_, beside == trees_.end() ? nullptr : beside->second.get());
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
    for (Plan::InputFile& file : look_at_input_files(graph_)) *plan.add_inputs() = std::move(file);
    Plan again;
    const google::protobuf::LogSilencer silence;  // what is wrong is told here
    if (!again.ParseFromString(plan.SerializeAsString()))
      throw error(error_kind::bad_spec, "the job has text that isn't UTF-8, which can't be given to tasks",
                  "name files and parameters in UTF-8, or run the job without --cluster");
    write_message(settings_.directory.plan(), plan);
  }

  void finish_outputs() {
    for (const auto& [n, folder] : outputs_)
      folder->finish(settings_.shown_name, texts_of(order_of_output(graph_, at(n))), job_.parts[at(n).id]);
    std::map<int, uint64_t> num_files;
    try {
      for (const auto& [n, folder] : outputs_) folder->place();
      for (const auto& [n, tree] : trees_) num_files[n] = tree->place(job_.parts[at(n).id].at(0).path);
    } catch (const error& problem) {
      const std::string in_place = take_back_outputs();
      if (in_place.empty()) throw;
      throw error(problem.kind(), fmt::format("{}; in place are {}", problem.what(), in_place), problem.hint());
    } catch (...) {
      take_back_outputs();
      throw;
    }
    for (const auto& [n, folder] : outputs_) folder->settle();
    for (const auto& [n, folder] : outputs_) report_output(n, job_.parts[at(n).id].size());
    for (const auto& [n, count] : num_files) report_output(n, count);
  }

  // Those that can't be taken back, for a message.
  std::string take_back_outputs() {
    std::string out;
    const auto tell = [&](int n) { out += (out.empty() ? "" : ", ") + plan::files_of(at(n)).front().path; };
    for (const auto& [n, folder] : outputs_)
      if (!folder->take_back()) tell(n);
    for (const auto& [n, tree] : trees_)
      if (!tree->take_back()) tell(n);
    return out;
  }

  void report_output(int n, uint64_t num_files) {
    exec::RunReport::Output& out = *job_.report.add_outputs();
    out.set_path(plan::files_of(at(n)).front().path);
    out.set_state("in place");
    exec::describe_output(graph_, at(n), out);
    out.set_num_files(num_files);
  }

  // What isn't in its place is removed, unless another process is to go on with it.
  void end(bool keeps) {
    has_ended_ = true;
    if (keeps) {
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
