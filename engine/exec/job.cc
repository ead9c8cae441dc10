#include "engine/exec/job.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/machine.h"
#include "engine/base/mutex.h"
#include "engine/exec/job_report.h"
#include "engine/exec/pipeline.h"
#include "engine/exec/pipeline_progress.h"
#include "engine/exec/task_executor.h"
#include "engine/io/joint_commit.h"
#include "engine/plan/file_rules.h"
#include "engine/resume/manifest.h"
#include "engine/sizes/batches_in_flight.h"

namespace flowrun::exec {

namespace {

constexpr std::chrono::milliseconds tick_interval{100};
std::unique_ptr<io::backend> make_backend(const job_settings& settings) {
  std::unique_ptr<io::backend> out = io::make_backend(settings.backend);
  return settings.wrap_backend ? settings.wrap_backend(std::move(out)) : std::move(out);
}

std::unique_ptr<task_executor> make_executor(const job_settings& settings) {
  if (settings.make_executor) return settings.make_executor();
  return settings.plain_executor ? make_plain_executor() : make_arena_executor(settings.plan.resources.threads);
}

int64_t present_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

constexpr uint64_t stall_ns = 60'000'000'000;  // without any progress the watchdog speaks up

}  // namespace

class job::core final : public services, public graph_host {
 public:
  explicit core(job_settings settings)
      : settings_(std::move(settings)),
        backend_(make_backend(settings_)),
        executor_(make_executor(settings_)),
        executor_here_(settings_.make_executor ? settings_.make_executor() : make_plain_executor()),
        at_work_(executor_.get()) {
    add_records(*settings_.graph);
    block::manager_options blocks;
    blocks.disks = settings_.scratch;
    blocks.backend = backend_.get();
    blocks.in_memory = settings_.backend == io::backend_kind::memory;
    blocks.direct = settings_.options.direct;
    blocks.limit = settings_.scratch_limit;
    blocks.depth = settings_.plan.resources.disk_depth;
    blocks.strategy = settings_.allocation;
    blocks.order = settings_.io_order;
    blocks.warn = [this](const std::string& text) { warn(text); };
    blocks_ = std::make_unique<block::block_manager>(std::move(blocks));
    runner_ = std::make_unique<graph_runner>(*settings_.graph, settings_.plan, records_.front(), *this, *this,
                                             vector_memory{});
  }

  ~core() override {
    stopped_ = true;  // run() may have been left by an exception while pipelines were at work
    take_down([] {});
    if (settings_.manifest) settings_.manifest->end();  // it syncs scratch files
  }

  record::batch_pool& pool() override { return pool_; }
  io::backend& backend() override { return *backend_; }
  block::block_manager& blocks() override { return *blocks_; }
  unsigned threads() const override { return settings_.plan.resources.threads; }
  const job_options& options() const override { return settings_.options; }
  resume::manifest* manifest() override { return settings_.manifest.get(); }
  bool cancelled() const override { return stopped_.load(std::memory_order_relaxed); }

  void spawn(std::function<void()> work) override {
    // Runs where the pipelines run. In a phase with little to do, that is the job's own thread: this work is little,
    // too, and waking another thread would take longer.
    at_work_.load()->post([this, work = std::move(work)] {
      try {
        work();
      } catch (...) {
        fail(std::current_exception());
      }
    });
  }

  void commit_at_end(std::unique_ptr<io::joint_output> output) override {
    mutex_lock lock(mutex_);
    outputs_.push_back(std::move(output));
  }

  void report_value(const std::string& node, const std::string& name, const std::string& value) override {
    mutex_lock lock(mutex_);
    // A node of a loop's body reports in every iteration: the last one stays.
    for (reported_value& r : results_)
      if (r.node == node && r.name == name) {
        r.value = value;
        return;
      }
    results_.push_back({node, name, value});
  }

  void warn(const std::string& text) override {
    mutex_lock lock(mutex_);
    if (warned_.insert(text).second) warnings_.push_back(text);
  }

  void run(const std::function<void()>& tick, const std::atomic<bool>& stop) {
    start_ns_ = now_ns();
    start_us_ = present_us();
    start_cpu_ = cpu_seconds();
    tick_ = &tick;
    stop_ = &stop;
    if (settings_.manifest) {
      blocks_->open_all();
      settings_.manifest->attach(*blocks_, [this](const std::string& text) { warn(text); });
    }
    runner_->run(nullptr);
    activities_.emplace_back("outputs are put into place");
    if (tick) tick();
    commit_outputs();
    activities_.clear();
    if (settings_.manifest) settings_.manifest->remove();
    succeeded_ = true;
    end();
  }

  // What was read or written wrong once isn't gone on with: the next run starts over.
  void distrust(const error& problem) {
    const bool wrong = problem.kind() == error_kind::io || problem.kind() == error_kind::internal;
    if (settings_.manifest && wrong) settings_.manifest->spoil(problem.what());
  }

  void end() {
    if (end_ns_ != 0) return;
    end_ns_ = now_ns();
    end_us_ = start_us_ + static_cast<int64_t>((end_ns_ - start_ns_) / 1000);
    end_cpu_ = cpu_seconds();
  }

  job_progress progress();
  metrics::resources_spent spent() const;
  RunReport report(const std::exception* problem) const;
  node_counters& counters(size_t node) { return records_.front().counters[node]; }
  const std::deque<graph_record>& records() const { return records_; }
  std::vector<std::string> warnings() const {
    mutex_lock lock(mutex_);
    return warnings_;
  }
  const job_settings& settings() const { return settings_; }
  std::vector<block::disk_usage> disks() const { return blocks_->usage(); }
  uint64_t batch_bytes_held() const { return pool_.held_bytes(); }

  // --- graph_host ---
  services& job() override { return *this; }
  const operator_set& operators() const override { return settings_.operators; }

  graph_record& record_of(const plan::graph& checked) override {
    for (graph_record& r : records_)
      if (r.graph == &checked) return r;
    internal_error("a graph runs that nobody knows of");
  }

  call_stack& calls_of(const plan::graph& checked) override { return calls_[&checked]; }

  std::vector<std::string>& activities() override { return activities_; }

  void look_around() override {
    if (stop_->load()) stopped_ = true;
    throw_if_stopped();
    show_progress();
  }

  waker& wakeup() override { return wakeup_; }

  void wait() override {
    while (!executor_here_->wait([this] { return wakeup_.take() || cancelled(); }, tick_interval)) {
      if (stop_->load()) stopped_ = true;
      if (*tick_) (*tick_)();
      shown_ns_ = now_ns();
    }
    throw_if_stopped();
  }

  void run_pipelines(std::vector<pipeline_tree> trees, bool here, const std::function<void()>& forget_wakers) override {
    at_work_ = here && !settings_.plain_executor ? executor_here_.get() : executor_.get();
    for (pipeline_tree& tree : trees) {
      pipeline_events events;
      events.finished = [this] {
        --running_;
        at_work_.load()->notify();
      };
      events.failed = [this](std::exception_ptr problem) { fail(std::move(problem)); };
      events.stopped = [this] { return cancelled(); };
      pipelines_.push_back(std::make_unique<pipeline>(std::move(tree), *at_work_.load(), threads(),
                                                      sizes::tickets_in_flight(threads()), std::move(events)));
    }
    running_ = pipelines_.size();
    try {
      if (stop_->load()) stopped_ = true;
      for (auto& p : pipelines_) p->start();
      wait_for_pipelines();
    } catch (...) {
      stopped_ = true;
      take_down(forget_wakers);
      throw;
    }
    take_down(forget_wakers);
    throw_if_stopped();
  }

 private:
  // Wakes the thread that runs the job.
  class main_waker final : public waker {
   public:
    explicit main_waker(std::unique_ptr<task_executor>& executor) : executor_(executor) {}
    void wake() noexcept override {
      woken_ = true;
      executor_->notify();
    }
    bool take() { return woken_.exchange(false); }

   private:
    std::unique_ptr<task_executor>& executor_;
    std::atomic<bool> woken_{false};
  };

  void add_records(const plan::graph& g) {
    for (const graph_record& r : records_)
      if (r.graph == &g) return;
    records_.emplace_back(g);
    for (const plan::node& n : g.nodes)
      for (const auto& body : n.bodies) add_records(*body);
  }

  void commit_outputs() {
    std::vector<std::unique_ptr<io::joint_output>> outputs;
    {
      mutex_lock lock(mutex_);
      outputs.swap(outputs_);
    }
    std::vector<std::string> inputs;
    for (plan::file_use& use : plan::files_within(*settings_.graph))
      if (!use.writes) inputs.push_back(std::move(use.path));
    io::commit_together(outputs, output_results_, inputs);
  }

  void throw_if_stopped() {
    {
      mutex_lock lock(mutex_);
      if (problem_) std::rethrow_exception(problem_);
    }
    if (cancelled())
      throw error(error_kind::cancelled, "stopped before the end", "no output was written; start it again");
  }

  void show_progress() {
    const uint64_t now = now_ns();
    if (now - shown_ns_ < static_cast<uint64_t>(std::chrono::nanoseconds(tick_interval).count())) return;
    shown_ns_ = now;
    if (*tick_) (*tick_)();
  }

  void wait_for_pipelines() {
    uint64_t seen = 0;
    uint64_t seen_ns = now_ns();
    while (!at_work_.load()->wait([&] { return running_ == 0 || cancelled(); }, tick_interval)) {
      if (stop_->load()) stopped_ = true;
      if (*tick_) (*tick_)();
      shown_ns_ = now_ns();
      const uint64_t moved = movement();
      if (moved != seen) {
        seen = moved;
        seen_ns = now_ns();
      } else if (now_ns() - seen_ns > stall_ns) {
        seen_ns = now_ns();
        for (const auto& p : pipelines_) warn("no progress for a minute: " + p->state());
      }
    }
    if (activities_.empty()) {
      if (*tick_) (*tick_)();
    } else {
      show_progress();  // phases of bodies may be short and many
    }
  }

  // Takes the pipelines of the phase down. Their operators wait for their transfers, whose completions may still wake a
  // pipeline, so pipelines go after all operators and after the last task. Queues stay: those that a later phase reads,
  // and after a failure all of them.
  void take_down(const std::function<void()>& forget_wakers) {
    const auto drain = [this] {
      executor_here_->drain();
      executor_->drain();
      executor_here_->drain();
    };
    drain();
    for (auto& p : pipelines_) p->dismantle();
    forget_wakers();
    drain();
    pipelines_.clear();
    if (activities_.empty()) pool_.trim();  // what comes next may want the memory; iterations want the same again
    at_work_ = executor_.get();             // until it is known how much the next phase has to do
  }

  void fail(std::exception_ptr problem) {
    {
      mutex_lock lock(mutex_);
      if (!problem_) problem_ = std::move(problem);
    }
    stopped_ = true;
    executor_here_->notify();
    executor_->notify();
  }

  // Changes whenever anything got on.
  uint64_t movement() const {
    uint64_t sum = 0;
    for (const graph_record& r : records_)
      for (const node_counters& c : r.counters) sum += c.busy_ns + c.rows_in + c.rows_out;
    return sum + blocks_->used_bytes();
  }

  job_settings settings_;
  record::batch_pool pool_;
  std::unique_ptr<io::backend> backend_;
  std::unique_ptr<block::block_manager> blocks_;
  std::unique_ptr<task_executor> executor_;
  std::unique_ptr<task_executor> executor_here_;  // for phases with little to do
  main_waker wakeup_{executor_here_};
  std::atomic<task_executor*> at_work_;  // the one of the current phase; read by I/O threads, too
  std::deque<graph_record> records_;     // of the job's graph and all bodies
  std::unique_ptr<graph_runner> runner_;
  std::vector<std::unique_ptr<pipeline>> pipelines_;  // of the current phase
  std::map<const plan::graph*, call_stack> calls_;
  std::vector<std::string> activities_;
  const std::function<void()>* tick_ = nullptr;
  const std::atomic<bool>* stop_ = nullptr;
  uint64_t shown_ns_ = 0;  // when the progress was shown last
  std::atomic<size_t> running_{0};
  std::atomic<bool> stopped_{false};
  bool succeeded_ = false;
  double shown_ratio_ = 0;  // the last progress: estimates get better, but the user should never see it go back
  uint64_t start_ns_ = 0;
  uint64_t end_ns_ = 0;
  int64_t start_us_ = 0;  // since 1970; 0: not yet
  int64_t end_us_ = 0;
  double start_cpu_ = 0;
  double end_cpu_ = 0;

  mutable mutex mutex_;
  std::exception_ptr problem_ FLOWRUN_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<io::joint_output>> outputs_ FLOWRUN_GUARDED_BY(mutex_);
  std::vector<io::output_result> output_results_;  // once they were committed, or that was tried
  std::vector<reported_value> results_ FLOWRUN_GUARDED_BY(mutex_);
  std::set<std::string> warned_ FLOWRUN_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ FLOWRUN_GUARDED_BY(mutex_);
};

metrics::resources_spent job::core::spent() const {
  metrics::resources_spent out;
  out.threads = settings_.plan.resources.threads;
  for (const graph_record& record : records_)
    for (const node_counters& c : record.counters) out.busy_seconds += static_cast<double>(c.busy_ns) * 1e-9;
  for (const block::disk_usage& d : blocks_->usage()) {
    out.scratch_read += static_cast<double>(d.transfers.reads.num_bytes);
    out.scratch_written += static_cast<double>(d.transfers.writes.num_bytes);
    out.reading_seconds = std::max(out.reading_seconds, static_cast<double>(d.transfers.reads.busy_ns) * 1e-9);
    out.writing_seconds = std::max(out.writing_seconds, static_cast<double>(d.transfers.writes.busy_ns) * 1e-9);
  }
  return out;
}

// The share of the work that is done: each head's rows (in bytes) against what they will come to.
job_progress job::core::progress() {
  job_progress out;
  const plan::graph& g = *settings_.graph;
  const plan::physical_plan& plan = settings_.plan;
  out.num_phases = plan.phases.size();
  const size_t phase_now = runner_->phase();
  out.phase = std::min(phase_now, out.num_phases);
  for (const plan::pipeline& p : plan.pipelines) {
    const plan::node& head = g.nodes[static_cast<size_t>(p.head)];
    if (p.control || head.role() == plan::operator_role::meeting) continue;
    out.rows_done += counters(static_cast<size_t>(p.head)).rows_out;
    if (p.phase == static_cast<int>(phase_now) && out.activity.empty()) out.activity = head.id;
  }
  for (const graph_record& record : records_) {
    for (size_t i = 0; i < record.counters.size(); ++i) {
      const node_counters& c = record.counters[i];
      out.iterations += c.iterations;
      out.bytes_read += c.file_read_bytes;
      // Rows inside of control nodes: what is made or sorted there.
      const plan::operator_role role = record.graph->nodes[i].role();
      const bool moves = role == plan::operator_role::source || role == plan::operator_role::breaker;
      if (&record != &records_.front() && moves) out.rows_done += c.rows_out;
    }
  }
  if (!activities_.empty()) out.activity.clear();
  for (const std::string& what : activities_) out.activity += (out.activity.empty() ? "" : ", ") + what;
  out.work = metrics::add_up(work_of(g, plan, records_.front().counters, phase_now), phase_now);
  out.work.spent = spent();
  shown_ratio_ = std::max(shown_ratio_, std::min(out.work.ratio, 1.0));
  if (succeeded_) shown_ratio_ = 1.0;
  out.done_ratio = shown_ratio_;
  return out;
}

RunReport job::core::report(const std::exception* problem) const {
  report_input in;
  in.graph = settings_.graph.get();
  in.plan = &settings_.plan;
  for (const graph_record& r : records_) in.records.push_back(&r);
  in.disks = blocks_->usage();
  in.peak_scratch_bytes = blocks_->peak_used_bytes();
  const uint64_t end = end_ns_ != 0 ? end_ns_ : now_ns();
  in.wall_seconds = start_ns_ == 0 ? 0 : static_cast<double>(end - start_ns_) * 1e-9;
  in.cpu_seconds = (end_ns_ != 0 ? end_cpu_ : cpu_seconds()) - start_cpu_;
  in.start_ns = start_ns_;
  in.now_ns = end;
  in.start_us = start_us_;
  in.end_us = end_us_;
  in.phases = runner_->phase_times();
  in.io_backend = std::string(backend_->name());
  in.usable_cores = usable_cores();
  in.usable_memory = usable_memory();
  in.succeeded = succeeded_;
  in.problem = problem;
  mutex_lock lock(mutex_);
  in.results = results_;
  in.outputs = output_results_.empty() ? io::results_before_commit(outputs_) : output_results_;
  return make_report(in);
}

job::job(job_settings settings) : core_(std::make_unique<core>(std::move(settings))) {}
job::~job() = default;
void job::open_scratch() { core_->blocks().open_all(); }
void job::run(const std::function<void()>& tick, const std::atomic<bool>& stop) {
  try {
    core_->run(tick, stop);
  } catch (const error& problem) {
    core_->end();
    core_->distrust(problem);
    throw;
  } catch (...) {
    core_->end();
    throw;
  }
}
job_progress job::progress() const { return core_->progress(); }
node_counters& job::counters(size_t node) { return core_->counters(node); }
const std::deque<graph_record>& job::records() const { return core_->records(); }
std::vector<std::shared_ptr<row_tap>> job::taps() const {
  std::vector<std::shared_ptr<row_tap>> out;
  for (const graph_record& r : core_->records())
    for (const auto& tap : r.taps)
      if (tap) out.push_back(tap);
  return out;
}
std::vector<block::disk_usage> job::disks() const { return core_->disks(); }
std::string_view job::backend_name() const { return core_->backend().name(); }
uint64_t job::batch_bytes_held() const { return core_->batch_bytes_held(); }
RunReport job::report(const std::exception* problem) const { return core_->report(problem); }
std::vector<std::string> job::warnings() const { return core_->warnings(); }
const plan::graph& job::graph() const { return *core_->settings().graph; }
const plan::physical_plan& job::plan() const { return core_->settings().plan; }

}  // namespace flowrun::exec
