#include "engine/exec/graph_runner.h"

#include <algorithm>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/body_runner.h"
#include "engine/exec/control_context.h"
#include "engine/exec/resumed_phases.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/control_memory.h"

namespace flowrun::exec {

namespace {

constexpr uint64_t small_rows = 10'000;

// A control node of this process: its rows lie in vectors.
class vector_context final : public control_context {
 public:
  vector_context(const plan::graph& g, const plan::node& n, services& job, node_counters& counters, graph_host& host)
      : control_context(g, n), counters_(counters), host_(host), level_(host.activities().size()), vectors_{job} {
    vectors_.make_vector = [this](const record::row_type& type, const plan::order& sorted_by) {
      return make_vector(type, sorted_by, vectors_.job, result_memory);
    };
    vectors_.append = [this](container::external_vector& to, record::batch rows) {
      while (to.push(rows, host_.wakeup()).is_blocked()) host_.wait();
    };
    vectors_.finish = [this](container::external_vector& rows) {
      while (!vectors_.complete([&](waker& w) { return rows.finish(w); }).is_done()) continue;
    };
    vectors_.next_of = [this](container::external_vector::reader& rows) {
      const record::batch* front = nullptr;
      const outcome o = vectors_.complete([&](waker& w) { return rows.front(front, w); });
      return o.is_ready() ? front : nullptr;
    };
    vectors_.complete = [this](const std::function<outcome(waker&)>& step) {
      for (;;) {
        const outcome o = step(host_.wakeup());
        if (!o.is_blocked()) return o;
        host_.wait();
      }
    };
  }

  vector_memory result_memory;  // of each vector that it makes
  std::function<void(size_t body, stream_table& streams, const std::vector<uint64_t>& scalars)> run;

  void add_input(shared_rows rows) { inputs.push_back(std::make_shared<vector_rows>(std::move(rows))); }
  std::vector<shared_rows> take_outputs() {
    std::vector<shared_rows> out;
    for (rows_handle& rows : outputs)
      out.push_back(rows == nullptr ? nullptr : vector_of(*std::exchange(rows, nullptr)));
    return out;
  }

  record::batch_pool& pool() override { return vectors_.job.pool(); }
  std::shared_ptr<held_rows> make_rows(const record::row_type& type, const plan::order& sorted_by) override {
    return std::make_shared<vector_rows>(vectors_.make_vector(type, sorted_by));
  }
  void append(held_rows& to, record::batch rows) override { vectors_.append(growing_vector(to), std::move(rows)); }
  void append_all(held_rows& to, const held_rows& from) override {
    if (from.num_rows() == 0) return;
    const auto reader = vector_of(from)->read(reading_bytes);
    while (const record::batch* front = vectors_.next_of(*reader)) {
      append(to, *front);
      reader->pop();
    }
  }
  void finish(held_rows& rows) override { vectors_.finish(growing_vector(rows)); }
  std::vector<std::byte> first_of(const held_rows& rows) override {
    const auto reader = vector_of(rows)->read(reading_bytes);
    const record::batch* const front = vectors_.next_of(*reader);
    FLOWRUN_CHECK(front != nullptr);
    return {front->row(0), front->row(0) + front->row_bytes};
  }
  void run_body(size_t i, body_streams& streams, const std::vector<uint64_t>& scalars) override {
    stream_table table;
    table.in_is_used_up = streams.in_is_used_up;
    for (auto& [name, rows] : streams.in) {
      table.in[name] = vector_of(*rows);
      if (streams.in_is_used_up) rows.reset();
    }
    run(i, table, scalars);
    for (auto& [name, rows] : table.out) streams.out[name] = std::make_shared<vector_rows>(std::move(rows));
    streams.counts = std::move(table.counts);
  }
  void note(const std::string& what) override {
    std::vector<std::string>& activities = host_.activities();
    activities.resize(level_ + 1);
    activities[level_] = node.id + ": " + what;
    host_.look_around();
  }
  void count_iteration() override { counters_.iterations.fetch_add(1, std::memory_order_relaxed); }
  void report_value(const std::string& name, const std::string& value) override {
    vectors_.job.report_value(node.id, name, value);
  }
  vector_access* vectors() override { return &vectors_; }

 private:
  static constexpr uint64_t reading_bytes = 256 * KiB;

  node_counters& counters_;
  graph_host& host_;
  const size_t level_;
  vector_access vectors_;
};

}  // namespace

graph_runner::graph_runner(const plan::graph& g, const plan::physical_plan& plan, graph_record& record,
                           graph_host& host, services& job, const vector_memory& result)
    : graph_(g),
      plan_(plan),
      record_(record),
      host_(host),
      job_(job),
      builder_(g, plan, host.operators(), job, record, result) {
  only_streams_ = std::all_of(g.nodes.begin(), g.nodes.end(), [](const plan::node& n) {
    return n.declaration->role != plan::operator_role::source || plan::is_body_stream(n);
  });
}

graph_runner::~graph_runner() = default;

void graph_runner::run(stream_table* streams) {
  builder_.set_streams(streams);
  const bool here = is_small(streams);
  const std::vector<bool> finished = finished_phases(graph_, plan_, job_.manifest());
  times_.assign(plan_.phases.size(), {});
  for (phase_ = 0; phase_ < plan_.phases.size(); ++phase_) {
    times_[phase_].finished_before = finished[phase_];
    if (finished[phase_]) continue;
    times_[phase_].start_ns = now_ns();
    run_phase(phase_, here);
    times_[phase_].end_ns = now_ns();
  }
  builder_.set_streams(nullptr);
}

// With so few rows, waking other threads would take longer than any operator's work on them.
bool graph_runner::is_small(const stream_table* streams) const {
  if (streams == nullptr || !only_streams_) return false;
  uint64_t num_rows = 0;
  for (const plan::pipeline& p : plan_.pipelines) {
    const plan::node& head = graph_.nodes[static_cast<size_t>(p.head)];
    if (plan::is_body_stream(head)) num_rows += streams->in.at(head.id)->num_rows();
  }
  return num_rows < small_rows;
}

void graph_runner::run_phase(size_t x, bool here) {
  builder_.begin_phase(x);
  std::vector<pipeline_tree> trees;
  int control = -1;
  for (int index : plan_.phases[x].pipelines) {
    const plan::pipeline& p = plan_.pipelines[static_cast<size_t>(index)];
    if (p.control)
      control = p.head;
    else
      trees.push_back(builder_.build(static_cast<size_t>(index)));
  }
  if (control >= 0) run_control(control);
  if (!trees.empty()) host_.run_pipelines(std::move(trees), here, [this] { builder_.forget_wakers(); });
  builder_.end_phase(x);
  if (job_.manifest() != nullptr) release_what_was_read(graph_, plan_, x, *job_.manifest());
}

body_runner& graph_runner::body_of(int node, size_t body, const plan::machine& resources, const vector_memory& result) {
  std::unique_ptr<body_runner>& runner = bodies_[{node, body}];
  if (runner == nullptr) {
    runner = std::make_unique<body_runner>(plan::body_of(graph_.nodes[static_cast<size_t>(node)], body), resources,
                                           result, host_);
  }
  return *runner;
}

void graph_runner::run_control(int node) {
  const plan::node& n = graph_.nodes[static_cast<size_t>(node)];
  const auto index = static_cast<size_t>(node);
  const plan::control_memory memory =
      plan::divide_control_memory(n, plan_.resources, plan_.share_of(node, plan::node_part::work));
  plan::machine resources = plan_.resources;
  resources.memory_bytes = memory.body_bytes;
  resources.pattern_bytes = 0;  // set aside around them
  uint64_t num_read = 0;
  for (const plan::output_port& port : n.outputs) num_read += port.consumers.empty() ? 0 : 1;
  // Results that a later phase reads are held until then.
  const vector_memory carried{memory.vector_bytes, memory.vector_bytes};
  vector_memory result = carried;
  for (const plan::memory_share& s : plan_.shares)
    if (s.node == node && s.part == plan::node_part::work && num_read > 0)
      result.kept_bytes = std::min(result.kept_bytes, s.kept_bytes / num_read);

  vector_context context(graph_, n, job_, record_.counters[index], host_);
  for (size_t k = 0; k < n.inputs.size(); ++k) context.add_input(builder_.take_stored(index, k));
  context.outputs.resize(n.outputs.size());
  context.known_scalars = builder_.scalars_of(index);
  context.body_bytes = memory.body_bytes;
  context.calls = &host_.calls_of(*plan::body_of(n, 0));
  context.result_memory = result;
  context.run = [&](size_t body, stream_table& streams, const std::vector<uint64_t>& scalars) {
    body_of(node, body, resources, plan::carries(n) ? carried : result).run(streams, scalars);
  };
  std::vector<std::string>& activities = host_.activities();
  const size_t level = activities.size();
  activities.push_back(n.id);
  host_.operators().at(n.declaration->name)->control(context);
  activities.resize(level);
  for (auto& [place, runner] : bodies_)
    if (place.first == node) runner->forget_kept();
  builder_.set_results(index, context.take_outputs());
}

}  // namespace flowrun::exec
