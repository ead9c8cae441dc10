#include "cluster/prepared_task.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cluster/cluster.pb.h"
#include "cluster/exchange_rows.h"
#include "cluster/exchange_words.h"
#include "cluster/locked_directory.h"
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
    throw unfit_machine(error_kind::missing_input, fmt::format("can't read {}: {}", path, errno_text(errno)),
                        "a worker is started by the driver of a job (flowrun run --cluster), which has written it: the "
                        "first scratch directory (-T) must be on storage that all machines share");
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

// A driver that works in the directory holds its lock.
void remove_unless_locked(const std::string& path, bool with_contents) {
  const int lock = locked_directory(path);
  if (lock < 0) return;
  std::error_code ignored;
  if (with_contents)
    std::filesystem::remove_all(path, ignored);
  else
    std::filesystem::remove(path, ignored);  // if it is empty
  ::close(lock);
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

specs::JobSpec prepared_task::planned_job(const shared_directory& directory, const std::string& version) {
  Plan plan = message_of<Plan>(directory.plan());
  if (plan.version() != version) {
    std::error_code ignored;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    throw unfit_machine(error_kind::bad_spec,
                        fmt::format("{} is flowrun {}, and the driver of the job is flowrun {}", program, version,
                                    plan.version().empty() ? "of an earlier version" : plan.version()),
                        "driver and workers must be one program: install the same version on all machines");
  }
  return std::move(*plan.mutable_job());
}

prepared_task::prepared_task(shared_directory directory, std::shared_ptr<const plan::graph> graph, size_t number,
                             size_t task)
    : directory_(std::move(directory)), stage_(number), task_(task) {
  plan_ = message_of<Plan>(directory_.plan());
  plan_.clear_job();
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
      must_see(output_tree::hidden_directory(use.partitioned->directory(), plan_.id()), use.partitioned->directory());
      outputs_.push_back({sink.id, output_tree::attempt_directory(use.partitioned->directory(), plan_.id(), name)});
      return use.partitioned->text_in(outputs_.back().path);
    }
    if (!output_folder::is_made_at(path)) return plan::path_template::escaped(path);
    outputs_.push_back({sink.id, output_folder::part_path(path, plan_.id(), task, name)});
    must_see(std::filesystem::path(outputs_.back().path).parent_path().string(), path);
    return plan::path_template::escaped(outputs_.back().path);
  };
  job_ = job_of_task(*graph, all, stage, t);
}

// An output makes the directories that it lacks: on a disk that only this machine has, too.
void prepared_task::must_see(const std::string& hidden, const std::string& output) const {
  if (::access(hidden.c_str(), F_OK) == 0 || errno != ENOENT || is_over()) return;
  throw unfit_machine(
      error_kind::output,
      fmt::format("can't write {}: there is no {} here, which the driver of the job has made", output, hidden),
      "outputs must be on storage that all machines share, under the same path");
}

void prepared_task::finish(const exec::RunReport& report, const std::vector<std::string>& warnings,
                           const Progress& last) {
  if (is_over())
    throw error(error_kind::cancelled, fmt::format("the job of {} has ended without this task", directory_.path()), "");
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
    struct stat written {};
    if (::stat(o.path.c_str(), &written) == 0)
      out.set_modified_ns(written.st_mtim.tv_sec * 1'000'000'000 + written.st_mtim.tv_nsec);
    for (const exec::RunReport::Output& r : report.outputs())
      if (r.node() == o.node) out.set_hash(r.hash());
    for (const exec::RunReport::Result& r : report.results()) {
      if (r.node() == o.node && r.name() == first_key) out.set_first(r.value());
      if (r.node() == o.node && r.name() == last_key) out.set_last(r.value());
    }
    // What was rewritten, as the beginning of a .npy file is, is read once more.
    if (out.hash().empty() && std::filesystem::is_regular_file(o.path, ignored)) out.set_hash(hash_of_file(o.path));
  }
  for (const exec::RunReport::Result& r : report.results()) {
    if (r.name() == first_key || r.name() == last_key) continue;  // of an output
    Done::Result& result = *done.add_results();
    result.set_node(r.node());
    result.set_name(r.name());
    result.set_value(r.value());
  }
  *done.mutable_report() = report;
  done.mutable_report()->clear_results();
  done.mutable_report()->clear_outputs();
  *done.mutable_warnings() = {warnings.begin(), warnings.end()};
  if (write_first_message(directory_.done(stage_, task_), done)) return;
  remove();
  remove_abandoned();
}

void prepared_task::tell_alive(const Progress& now) noexcept {
  try {
    write_unsynced_message(directory_.alive(stage_, task_, ::getpid()), now);
  } catch (const std::exception&) {
    // Who looks takes the worker for frozen, and starts another one.
  }
}

void prepared_task::remove() {
  std::error_code ignored;
  for (const output& o : outputs_) std::filesystem::remove_all(o.path, ignored);
  std::filesystem::remove_all(attempt_, ignored);
  if (is_over()) remove_abandoned();
}

void prepared_task::remove_abandoned() const {
  for (const output& o : outputs_)
    remove_unless_locked(std::filesystem::path(o.path).parent_path().string(), is_over());
  if (is_over()) remove_unless_locked(directory_.path(), true);
}

bool prepared_task::is_over() const { return ::access(directory_.plan().c_str(), F_OK) != 0 && errno == ENOENT; }

}  // namespace flowrun::cluster
