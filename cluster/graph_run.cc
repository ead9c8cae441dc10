#include "cluster/graph_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cluster/control_run.h"
#include "cluster/cut_points.h"
#include "cluster/damaged_file.h"
#include "cluster/stage_job.h"
#include "cluster/text_cuts.h"
#include "engine/base/counted.h"
#include "engine/base/error.h"

namespace flowrun::cluster {

namespace {

// Workers write how far they are once a second. Soon after the beginning is told which tasks have begun.
constexpr std::chrono::milliseconds between_readings{1000}, first_reading{200};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of which iteration the slowest task was, nobody could tell.
exec::RunReport::Stage without_task(exec::RunReport::Stage of_body) {
  of_body.clear_slowest_task();
  of_body.clear_slowest_because();
  return of_body;
}

exec::RunReport::Stage placed(exec::RunReport::Stage told, size_t stage_of_job, const std::string& inside) {
  told.set_phase(static_cast<uint32_t>(stage_of_job + 1));
  told.set_inside(inside);
  return told;
}

}  // namespace

double job_run::seconds() const { return seconds_since(start); }

exec::RunReport job_run::report_now(bool ended) const {
  exec::RunReport out = report;
  const plan::graph* const at = at_work ? at_work->graph.get() : nullptr;
  const auto running = [&](const std::string& path, const repeated_stage& before) {
    exec::RunReport::Stage told =
        running_stage(at_work->nodes, before.seconds + seconds_since(at_work->start), before.tasks, at_work->progress);
    if (ended) told.clear_tasks_at_work();
    *out.add_stages() = placed(path.empty() ? std::move(told) : without_task(std::move(told)), stage, path);
  };
  bool is_told = at == nullptr;
  for (const auto& [place, done] : repeated) {
    if (at != nullptr && place == std::pair(at->path, at_work->stage)) {
      running(at->path, done);
      is_told = true;
    } else {
      *out.add_stages() = placed(without_task(stage_report(done.nodes, done.seconds, done.tasks)), stage, place.first);
    }
  }
  if (!is_told) running(at->path, {});
  if (at != nullptr) {
    uint64_t resident = 0;
    for (const stage_progress::task_progress& t : at_work->progress.tasks()) {
      add_task(out, *at, at_work->what, t.counted);
      if (!t.is_done) resident += t.counted.live().resident_bytes();
    }
    if (!ended && resident > 0) out.mutable_live()->set_resident_bytes(resident);
  }
  std::vector<stage_time> until_now = times;
  for (stage_time& t : until_now) {
    if (t.state != exec::RunReport::Phase::running) continue;
    t.seconds = seconds() - t.start_seconds;
    if (ended) t.state = exec::RunReport::Phase::stopped;
  }
  add_structure(*settings.job.graph, settings.job.cut, until_now, out);
  return out;
}

graph_run::graph_run(job_run& job, divided_job divided, std::vector<StageTasks::Step> place)
    : job_(job), divided_(std::move(divided)), graph_(*divided_.graph), cut_(divided_.cut), place_(std::move(place)) {
  for (size_t s = 0; s < cut_.all.size(); ++s)
    for (const stage_input& in : cut_.all[s].inputs) streams_[stream_of(in)].last_reader = s;
  for (const stream& s : cut_.results) streams_[s].leaves = true;
}

void graph_run::give(const std::string& name, std::shared_ptr<const exchange_rows> rows) {
  const plan::node* const n = graph_.find(name);
  if (n == nullptr) return;
  const auto found = streams_.find({static_cast<int>(n - graph_.nodes.data()), 0});
  if (found != streams_.end()) found->second.rows = std::move(rows);
}

void graph_run::carry_out() {
  for (size_t s = 0; s < cut_.all.size(); ++s) run_stage(s);
}

std::shared_ptr<const exchange_rows> graph_run::rows_of(const plan::node& result) const {
  return rows_of_input(result, 0);
}

const std::shared_ptr<const exchange_rows>& graph_run::rows_of_input(const plan::node& n, size_t input) const {
  const auto [node, port] = origin_of(graph_, n.inputs[input].from_node, n.inputs[input].from_port);
  return streams_.at({node, port}).rows;
}

void graph_run::run_stage(size_t s) {
  const size_t num_run = job_.num_run;
  if (!is_body()) {
    job_.stage = s;
    job_.times.push_back({exec::RunReport::Phase::running, job_.seconds(), 0});
  }
  if (is_worth_stages(s))
    run_control(at(cut_.all[s].control));
  else
    run_tasks(s);
  if (!is_body()) {
    stage_time& time = job_.times.back();
    time.state = job_.num_run > num_run ? exec::RunReport::Phase::finished : exec::RunReport::Phase::finished_before;
    time.seconds = job_.seconds() - time.start_seconds;
  }
  let_go(s);
  job_.unread.remove();
  if (job_.listener.counted) job_.listener.counted(job_.report);
}

// Of small rows the whole node is done by one task before others have begun.
bool graph_run::is_worth_stages(size_t s) const {
  const stage& st = cut_.all[s];
  if (st.control < 0 || divided_.most_tasks < 2) return false;
  return num_bytes_read(st) >= job_.settings.least_divided_bytes || counts_calls(graph_, at(st.control));
}

uint64_t graph_run::num_bytes_read(const stage& st) const {
  uint64_t out = 0;
  for (const stage_input& in : st.inputs) out += streams_.at(stream_of(in)).rows->num_bytes();
  return std::max<uint64_t>(out, 1);  // so with a limit of 1 all is divided
}

void graph_run::run_control(const plan::node& n) {
  control_run control(*this, n);
  job_.settings.operators.at(n.declaration->name)->control(control);
  const std::vector<std::shared_ptr<const exchange_rows>> rows = control.finish();
  const auto node = static_cast<int>(&n - graph_.nodes.data());
  for (size_t port = 0; port < rows.size(); ++port) {
    const auto found = streams_.find({node, static_cast<int>(port)});
    if (found != streams_.end()) found->second.rows = rows[port];
  }
  if (is_body()) return;
  for (const auto& [place, done] : job_.repeated)
    *job_.report.add_stages() =
        placed(without_task(stage_report(done.nodes, done.seconds, done.tasks)), job_.stage, place.first);
  job_.repeated.clear();
}

void graph_run::run_tasks(size_t s) {
  const size_t number = job_.num_begun++;
  const shared_directory& directory = job_.settings.directory;
  StageTasks tasks;
  const bool was_begun = read_message(directory.stage(number), tasks);
  if (!was_begun) {
    tasks = tasks_of(s);
    write_message(directory.stage(number), tasks);
  }
  std::vector<size_t> missing;
  for (size_t task = 0; task < tasks.num_tasks(); ++task)
    if (::access(directory.done(number, task).c_str(), F_OK) != 0) missing.push_back(task);
  if (was_begun && !missing.empty())
    for (const StageTasks::Input& in : tasks.inputs()) check_there({in.paths().begin(), in.paths().end()});
  const auto start = std::chrono::steady_clock::now();
  job_.at_work = {divided_.graph, s, cut_.all[s], names_of(s), start, stage_progress(tasks.num_tasks())};
  stage_progress& progress = job_.at_work->progress;
  const auto finish = [&](size_t task) {
    const Done done = done_of(s, number, task);
    Progress last = done.progress();
    *last.mutable_counted() = counts_of(done.report());
    progress.finish(task, last, done.host());
  };
  for (size_t task = 0; task < tasks.num_tasks(); ++task)
    if (std::find(missing.begin(), missing.end(), task) == missing.end()) finish(task);
  job_.num_run += missing.size();
  tell();
  auto read = start - between_readings + first_reading;
  const auto finished = [&](size_t task) {
    finish(task);
    tell();
  };
  const auto waiting = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (now - read >= between_readings) {
      read_progress(directory, number, progress);
      read = now;
    }
    tell();
  };
  if (!missing.empty())
    job_.tasks.run(number, missing, {finished, waiting, [this](const std::string& w) { warn(w); }}, job_.stop);
  job_.rows += progress.rows();
  job_.bytes_read += progress.bytes_read();
  job_.num_tasks += tasks.num_tasks();
  job_.at_work.reset();  // what its tasks have counted comes into the report
  report_stage(s, number, tasks.num_tasks(), seconds_since(start));
  directory.tidy(number);
}

// What tasks have written, of an earlier process perhaps, for tasks that are yet to run.
void graph_run::check_there(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
      throw damaged_file(fmt::format("{}, which a task has written, is not there any more", path));
}

// Of the rows that no later stage reads.
void graph_run::let_go(size_t s) {
  for (auto& [stream, written] : streams_)
    if (written.last_reader == s && !written.leaves) written.rows.reset();
}

Done graph_run::done_of(size_t s, size_t number, size_t task) const {
  Done done;
  if (!read_message(job_.settings.directory.done(number, task), done))
    throw error(error_kind::internal, fmt::format("task {} of stage {} ended and isn't done", task + 1, s + 1), "");
  return done;
}

std::vector<std::string> graph_run::names_of(size_t s) const {
  std::vector<std::string> out;
  for (const int n : cut_.all[s].nodes) out.push_back(full_name(at(n).id));
  for (const int n : cut_.all[s].runs) out.push_back(full_name(at(n).id));
  return out;
}

void graph_run::report_stage(size_t s, size_t number, size_t num_tasks, double seconds) {
  std::vector<finished_task> finished(num_tasks);
  for (size_t task = 0; task < num_tasks; ++task) {
    const Done done = done_of(s, number, task);
    take(s, done);
    finished[task] = {done.report().wall_seconds(), done.progress().rows(), 0, done.host()};
  }
  for (const auto& [task, path] : job_.settings.directory.all_alive(number))
    if (task < num_tasks) ++finished[task].attempts;
  if (is_body()) {
    repeated_stage& all = job_.repeated[{graph_.path, s}];
    all.nodes = names_of(s);
    all.seconds += seconds;
    all.tasks.insert(all.tasks.end(), finished.begin(), finished.end());
    return;
  }
  *job_.report.add_stages() = placed(stage_report(names_of(s), seconds, finished), s, {});
  warn_of_skew(s, finished);
}

void graph_run::warn(const std::string& warning) const {
  if (job_.told.insert(warning).second) job_.listener.warning(warning);
}

void graph_run::warn_of_skew(size_t s, const std::vector<finished_task>& tasks) const {
  const std::string kept = kept_together_in(s);
  const std::optional<task_skew> skew = skew_of(tasks);
  if (kept.empty() || !skew) return;
  job_.listener.warning(
      fmt::format("stage {}: task {} took {}, half of the tasks {} or less: it had {}, and they {} or fewer; "
                  "rows that are equal in {} come to one task",
                  s + 1, skew->task + 1, format_duration(skew->seconds), format_duration(skew->median_seconds),
                  counted(skew->rows, "row"), format_count(skew->median_rows), kept));
}

// By what rows have to come together; empty: they needn't.
std::string graph_run::kept_together_in(size_t s) const {
  const stage& st = cut_.all[s];
  for (const stage_input& in : st.inputs) {
    if (in.how != reading::merged || st.kept_together == 0) continue;
    return plan::to_string(range_of(graph_, in, st.kept_together));
  }
  return {};
}

void graph_run::tell() const {
  const stage_progress& progress = job_.at_work->progress;
  driver_progress now;
  now.stage = job_.stage;
  now.num_stages = job_.settings.job.cut.all.size();
  now.num_done = progress.num_done();
  now.num_tasks = progress.num_tasks();
  now.num_tasks_before = job_.num_tasks;
  // How often a body will run isn't known.
  now.ratio = is_body() ? 0 : progress.ratio();
  now.rows = job_.rows + progress.rows();
  now.bytes_read = job_.bytes_read + progress.bytes_read();
  now.nodes = fmt::format("{}", fmt::join(job_.at_work->nodes, ", "));
  if (is_body())
    now.inside =
        fmt::format("{}, stage {} of {}", fmt::join(job_.activities, ", "), job_.at_work->stage + 1, cut_.all.size());
  job_.listener.progress(now);
}

StageTasks graph_run::tasks_of(size_t s) const {
  const stage& st = cut_.all[s];
  StageTasks out;
  size_t num_tasks = 1;
  if (st.source >= 0) {
    const std::vector<source_piece> pieces =
        at_ends_of_records(at(st.source), divided_.pieces[static_cast<size_t>(st.source)], job_.stop);
    num_tasks = pieces.size();
    for (const source_piece& p : pieces) {
      Piece& piece = *out.add_pieces();
      *piece.mutable_paths() = {p.paths.begin(), p.paths.end()};
      for (const auto& [name, text] : p.texts) (*piece.mutable_texts())[name] = text;
    }
  } else if (st.divided && st.merges()) {
    // In a body, which runs again and again, starting tasks for a few rows takes longer than merging them.
    const bool is_little = is_body() && num_bytes_read(st) < job_.settings.least_divided_bytes;
    num_tasks = is_little ? 1 : divided_.most_tasks;
  }
  for (const stage_input& in : st.inputs) {
    const std::vector<std::string> paths = streams_.at(stream_of(in)).rows->paths();
    check_there(paths);
    *out.add_inputs()->mutable_paths() = {paths.begin(), paths.end()};
    if (in.how == reading::piece) num_tasks = std::min(paths.size(), divided_.most_tasks);
  }
  out.set_num_tasks(static_cast<uint32_t>(num_tasks));
  set_bounds(st, num_tasks, out);
  out.set_stage(static_cast<uint32_t>(s));
  for (const bool divides : divided_.divides) out.add_divides(divides);
  *out.mutable_graph() = {place_.begin(), place_.end()};
  for (const expr::constant& c : graph_.scalars) out.add_scalars(c.bits);
  return out;
}

// Where the tasks' ranges of keys begin in the sorted runs.
void graph_run::set_bounds(const stage& st, size_t num_tasks, StageTasks& out) const {
  std::vector<sorted_stream> merged;
  std::vector<int> numbers;
  for (size_t i = 0; i < st.inputs.size(); ++i) {
    const stage_input& in = st.inputs[i];
    if (in.how != reading::merged) continue;
    sorted_stream& runs = merged.emplace_back();
    runs.paths = streams_.at(stream_of(in)).rows->paths();
    runs.type = type_of(graph_, stream_of(in));
    for (const plan::order_term& term : order_of(graph_, in))
      runs.key.push_back({*runs.type.index_of(term.column), term.descending, term.from, term.length});
    numbers.push_back(static_cast<int>(i));
  }
  if (merged.empty()) return;
  size_t kept = st.kept_together;
  for (const sorted_stream& m : merged) kept = std::min(kept, m.key.size());
  // A stream may be sorted by more of a column than another one, and than what is merged by.
  for (size_t t = 0; t < kept; ++t) {
    uint32_t shortest = 0;
    for (const sorted_stream& m : merged)
      if (m.key[t].length > 0 && (shortest == 0 || m.key[t].length < shortest)) shortest = m.key[t].length;
    for (sorted_stream& m : merged) m.key[t].length = shortest;
  }
  const cut_rows cuts = cut_points(merged, num_tasks, kept);
  for (size_t m = 0; m < merged.size(); ++m)
    for (const auto& by_stream : cuts)
      for (const uint64_t row : by_stream[m]) out.mutable_inputs(numbers[m])->add_bounds(row);
}

// What the attempt that was first has written.
void graph_run::take(size_t s, const Done& done) {
  const std::vector<stream> written = streams_written(cut_, s);
  FLOWRUN_CHECK(static_cast<size_t>(done.written_size()) == written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    written_stream& to = streams_[written[i]];
    auto rows = std::make_shared<exchange_rows>(job_.unread, type_of(graph_, written[i]));
    if (to.rows != nullptr) rows->add(*to.rows);
    rows->add(done.written(static_cast<int>(i)));
    to.rows = std::move(rows);
  }
  for (const Done::Output& out : done.outputs())
    job_.parts[out.node()].push_back(
        {out.path(), out.rows(), out.bytes(), out.hash(), done.host(), out.first(), out.last()});
  for (const std::string& warning : done.warnings()) warn(warning);
  add_task(job_.report, graph_, cut_.all[s], done.report());
  for (const Done::Result& r : done.results()) set_result(job_.report, full_name(r.node()), r.name(), r.value());
}

}  // namespace flowrun::cluster
