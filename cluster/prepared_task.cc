#include "cluster/prepared_task.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cluster/cluster.pb.h"
#include "cluster/exchange_rows.h"
#include "cluster/output_folder.h"
#include "cluster/output_manifest.h"
#include "cluster/output_tree.h"
#include "cluster/stage_job.h"
#include "engine/base/error.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/file_rules.h"

namespace flowrun::cluster {

namespace {

[[noreturn]] void misfit(const std::string& path) {
  throw error(error_kind::bad_data, fmt::format("{} doesn't fit the job", path),
              "driver and workers must be the same program, and see the same files");
}

template <class Message>
Message message_of(const std::string& path) {
  Message out;
  if (!read_message(path, out))
    throw error(error_kind::missing_input, fmt::format("can't read {}", path),
                "a worker is started by the driver of a job (flowrun run --cluster), whose directory it must see");
  return out;
}

source_piece piece_of(const Piece& message) {
  source_piece out;
  out.paths.assign(message.paths().begin(), message.paths().end());
  out.texts.insert(message.texts().begin(), message.texts().end());
  return out;
}

// What the task reads of an input of its stage.
task_input input_of(const StageTasks::Input& message, reading how, size_t task, size_t num_tasks) {
  task_input out;
  const auto num_paths = static_cast<size_t>(message.paths_size());
  if (how == reading::piece) {
    const auto share_of = [&](size_t t) {
      return message.paths().begin() + static_cast<ptrdiff_t>(num_paths * t / num_tasks);
    };
    out.paths.assign(share_of(task), share_of(task + 1));
    return out;
  }
  out.paths.assign(message.paths().begin(), message.paths().end());
  if (how == reading::all) return out;
  for (size_t p = 0; p < num_paths; ++p) {
    const auto bound = [&](size_t t) { return message.bounds(static_cast<int>(t * num_paths + p)); };
    out.ranges.emplace_back(bound(task), bound(task + 1));
  }
  return out;
}

bool fits(const StageTasks::Input& message, reading how, size_t num_tasks) {
  const auto num_paths = static_cast<size_t>(message.paths_size());
  if (how == reading::piece) return num_paths >= num_tasks;
  return how == reading::all || static_cast<size_t>(message.bounds_size()) == (num_tasks + 1) * num_paths;
}

// Null: there is no such graph.
std::shared_ptr<const plan::graph> body_at(std::shared_ptr<const plan::graph> graph, const StageTasks& tasks) {
  for (const StageTasks::Step& step : tasks.graph()) {
    if (graph == nullptr || step.node() >= graph->nodes.size()) return nullptr;
    graph = plan::body_of(graph->nodes[step.node()], step.body());
  }
  return graph;
}

}  // namespace

specs::JobSpec prepared_task::planned_job(const shared_directory& directory) {
  return message_of<Plan>(directory.plan()).job();
}

prepared_task::prepared_task(shared_directory directory, std::shared_ptr<const plan::graph> graph, size_t number,
                             size_t task)
    : directory_(std::move(directory)), stage_(number), task_(task) {
  const Plan plan = message_of<Plan>(directory_.plan());
  const StageTasks tasks = message_of<StageTasks>(directory_.stage(number));
  graph = body_at(std::move(graph), tasks);
  const std::vector<bool> divides(tasks.divides().begin(), tasks.divides().end());
  if (graph == nullptr || divides.size() != graph->nodes.size() ||
      static_cast<size_t>(tasks.scalars_size()) != graph->scalars.size())
    misfit(directory_.stage(number));
  scalars_ = graph->scalars;
  for (size_t i = 0; i < scalars_.size(); ++i) scalars_[i].bits = tasks.scalars(static_cast<int>(i));
  const stages all = find_stages(*graph, divides);
  const size_t stage = tasks.stage();
  if (stage >= all.all.size() || task >= tasks.num_tasks() ||
      static_cast<size_t>(tasks.inputs_size()) != all.all[stage].inputs.size() ||
      (all.all[stage].source >= 0 && static_cast<uint32_t>(tasks.pieces_size()) != tasks.num_tasks()))
    misfit(directory_.stage(number));
  cluster::task t;
  for (size_t i = 0; i < all.all[stage].inputs.size(); ++i) {
    const StageTasks::Input& in = tasks.inputs(static_cast<int>(i));
    if (!fits(in, all.all[stage].inputs[i].how, tasks.num_tasks())) misfit(directory_.stage(number));
    t.inputs.push_back(input_of(in, all.all[stage].inputs[i].how, task, tasks.num_tasks()));
  }
  source_piece piece;
  if (all.all[stage].source >= 0) {
    piece = piece_of(tasks.pieces(static_cast<int>(task)));
    t.piece = &piece;
  }
  attempt_ = directory_.make_attempt(number, task);
  for (const stream& s : streams_written(all, stage)) {
    written_types_.push_back(type_of(*graph, s));
    written_.push_back(fmt::format("{}/rows-{}", attempt_, written_.size()));
  }
  t.written = written_;
  const std::string name = std::filesystem::path(attempt_).filename().string();
  t.output_path = [&](const plan::node& sink) {
    const plan::file_use use = plan::files_of(sink).front();
    const std::string& path = use.path;
    if (use.partitioned) {
      outputs_.push_back({sink.id, output_tree::attempt_directory(use.partitioned->directory(), plan.id(), name)});
      return use.partitioned->text_in(outputs_.back().path);
    }
    if (!output_folder::is_made_at(path)) return plan::path_template::escaped(path);
    outputs_.push_back({sink.id, output_folder::part_path(path, plan.id(), task, name)});
    return plan::path_template::escaped(outputs_.back().path);
  };
  job_ = job_of_task(*graph, all, stage, t);
}

void prepared_task::finish(const exec::RunReport& report, const std::vector<std::string>& warnings,
                           const Progress& last) {
  Done done;
  *done.mutable_progress() = last;
  done.set_host(report.host());
  for (size_t i = 0; i < written_.size(); ++i) *done.add_written() = written_file(written_[i], written_types_[i]);
  for (const output& o : outputs_) {
    Done::Output& out = *done.add_outputs();
    out.set_node(o.node);
    out.set_path(o.path);
    for (const exec::RunReport::Node& n : report.nodes())
      if (n.id() == o.node) out.set_rows(n.rows());
    std::error_code ignored;
    const uint64_t num_bytes = std::filesystem::file_size(o.path, ignored);
    out.set_bytes(ignored ? 0 : num_bytes);
    for (const exec::RunReport::Output& r : report.outputs())
      if (r.node() == o.node) out.set_hash(r.hash());
    // What was rewritten, as the beginning of a .npy file is, is read once more.
    if (out.hash().empty() && std::filesystem::is_regular_file(o.path, ignored)) out.set_hash(hash_of_file(o.path));
  }
  for (const exec::RunReport::Result& r : report.results()) {
    Done::Result& result = *done.add_results();
    result.set_node(r.node());
    result.set_name(r.name());
    result.set_value(r.value());
  }
  *done.mutable_report() = report;
  done.mutable_report()->clear_results();
  done.mutable_report()->clear_outputs();
  *done.mutable_warnings() = {warnings.begin(), warnings.end()};
  if (!write_first_message(directory_.done(stage_, task_), done)) remove();
}

void prepared_task::tell_alive(const Progress& now) noexcept {
  try {
    const std::string path = directory_.alive(stage_, task_, ::getpid());
    std::ofstream out(path + ".new", std::ios::binary);
    out << now.SerializeAsString();
    out.close();
    std::filesystem::rename(path + ".new", path);
  } catch (const std::exception&) {
    // Who looks takes the worker for frozen, and starts another one.
  }
}

void prepared_task::remove() {
  std::error_code ignored;
  for (const output& o : outputs_) std::filesystem::remove_all(o.path, ignored);
  std::filesystem::remove_all(attempt_, ignored);
}

}  // namespace flowrun::cluster
