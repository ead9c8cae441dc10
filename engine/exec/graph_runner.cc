#include "engine/exec/graph_runner.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/exec/body_runner.h"
#include "engine/exec/control_context.h"
#include "engine/exec/resumed_phases.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/control_memory.h"

namespace flowrun::exec {

namespace {

constexpr uint64_t small_rows = 10'000;

void append_all(graph_host& host, container::external_vector& rows, record::batch b) {
  while (rows.push(b, host.wakeup()).is_blocked()) host.wait();
}

void finish_all(graph_host& host, container::external_vector& rows) {
  for (;;) {
    const outcome result = rows.finish(host.wakeup());
    if (result.is_done()) return;
    if (result.is_blocked()) host.wait();
  }
}

// The next batch of a reader; null behind the last one.
const record::batch* next_of(graph_host& host, container::external_vector::reader& rows) {
  const record::batch* front = nullptr;
  for (;;) {
    const outcome result = rows.front(front, host.wakeup());
    if (result.is_blocked())
      host.wait();
    else
      return result.is_ready() ? front : nullptr;
  }
}

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

// The body as the checker made it: all copies of it that run share this one.
std::shared_ptr<const plan::graph> graph_runner::checked_body(const plan::node& n, size_t body) const {
  std::shared_ptr<const plan::graph> checked = n.bodies.empty() ? n.recursion.lock() : n.bodies.at(body);
  FLOWRUN_CHECK(checked != nullptr);
  return checked;
}

body_runner& graph_runner::body_of(int node, size_t body, const plan::machine& resources, const vector_memory& result) {
  std::unique_ptr<body_runner>& runner = bodies_[{node, body}];
  if (runner == nullptr) {
    runner = std::make_unique<body_runner>(checked_body(graph_.nodes[static_cast<size_t>(node)], body), resources,
                                           result, host_);
  }
  return *runner;
}

void graph_runner::run_control(int node) {
  const plan::node& n = graph_.nodes[static_cast<size_t>(node)];
  const auto index = static_cast<size_t>(node);
  control_context context(graph_, n, job_, record_.counters[index]);
  for (size_t k = 0; k < n.inputs.size(); ++k) context.inputs.push_back(builder_.take_stored(index, k));
  context.outputs.resize(n.outputs.size());
  context.known_scalars = builder_.scalars_of(index);

  const plan::control_memory memory =
      plan::divide_control_memory(n, plan_.resources, plan_.share_of(node, plan::node_part::work));
  plan::machine resources = plan_.resources;
  resources.memory_bytes = context.body_bytes = memory.body_bytes;
  resources.pattern_bytes = 0;  // set aside around them
  context.calls = &host_.calls_of(*checked_body(n, 0));
  uint64_t num_read = 0;
  for (size_t i = 0; i < n.outputs.size(); ++i) num_read += context.is_read(i) ? 1 : 0;
  // Results that a later phase reads are held until then.
  const vector_memory carried{memory.vector_bytes, memory.vector_bytes};
  vector_memory result = carried;
  for (const plan::memory_share& s : plan_.shares)
    if (s.node == node && s.part == plan::node_part::work && num_read > 0)
      result.kept_bytes = std::min(result.kept_bytes, s.kept_bytes / num_read);

  context.make_vector = [&](const record::row_type& type, const plan::order& sorted_by) {
    return make_vector(type, sorted_by, job_, result);
  };
  context.append = [&](container::external_vector& rows, record::batch b) { append_all(host_, rows, std::move(b)); };
  context.finish = [&](container::external_vector& rows) { finish_all(host_, rows); };
  context.next_of = [&](container::external_vector::reader& rows) { return next_of(host_, rows); };
  context.complete = [&](const std::function<outcome(waker&)>& step) {
    for (;;) {
      const outcome o = step(host_.wakeup());
      if (!o.is_blocked()) return o;
      host_.wait();
    }
  };
  context.run_body = [&](size_t body, stream_table& streams, const std::vector<uint64_t>& scalars) {
    body_of(node, body, resources, plan::carries(n) ? carried : result).run(streams, scalars);
  };
  std::vector<std::string>& activities = host_.activities();
  const size_t level = activities.size();
  activities.push_back(n.id);
  context.note = [&](const std::string& what) {
    activities.resize(level + 1);
    activities[level] = n.id + ": " + what;
    host_.look_around();
  };
  host_.operators().at(n.declaration->name)->control(context);
  activities.resize(level);
  for (auto& [place, runner] : bodies_)
    if (place.first == node) runner->forget_kept();
  builder_.set_results(index, std::move(context.outputs));
}

}  // namespace flowrun::exec
