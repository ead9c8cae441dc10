#include "engine/exec/pipeline_builder.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/exec/program_stage.h"
#include "engine/exec/row_values.h"
#include "engine/expr/outside_function.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/scalar_names.h"
#include "engine/record/row_too_large.h"
#include "engine/resume/manifest.h"
#include "engine/sizes/batches_in_flight.h"

namespace flowrun::exec {

pipeline_builder::pipeline_builder(const plan::graph& g, const plan::physical_plan& plan, const operator_set& operators,
                                   services& job, graph_record& record, const vector_memory& result)
    : graph_(g),
      plan_(plan),
      operators_(operators),
      job_(job),
      counters_(record.counters),
      fused_with_(record.fused_with),
      taps_(record.taps),
      result_memory_(result),
      states_(g.nodes.size()),
      stored_(g.nodes.size()),
      results_(g.nodes.size()),
      row_values_(g.nodes.size()),
      queues_(plan.queues.size()) {
  for (size_t i = 0; i < g.nodes.size(); ++i) stored_[i].resize(g.nodes[i].inputs.size());
}

int pipeline_builder::phase_of_reader(const plan::queue& q) const {
  for (const plan::pipeline& p : plan_.pipelines)
    if (p.head == q.to_node) return p.phase;
  internal_error("a queue without a reader");
}

int pipeline_builder::phase_of_writer(int queue) const {
  for (const plan::pipeline& p : plan_.pipelines)
    if (std::find(p.queues.begin(), p.queues.end(), queue) != p.queues.end()) return p.phase;
  internal_error("a queue without a writer");
}

void pipeline_builder::begin_phase(size_t phase) {
  for (size_t i = 0; i < queues_.size(); ++i) {
    const plan::queue& q = plan_.queues[i];
    if (phase_of_writer(static_cast<int>(i)) != static_cast<int>(phase)) continue;
    const plan::output_port& port =
        graph_.nodes[static_cast<size_t>(q.from_node)].outputs[static_cast<size_t>(q.from_port)];
    edge_queue* const in_step = q.in_step_with < 0 ? nullptr : queues_[static_cast<size_t>(q.in_step_with)].get();
    queues_[i] = q.kind == plan::queue_kind::bounded
                     ? make_bounded_queue(sizes::bounded_queue_batches,
                                          2 * sizes::bounded_queue_batches * plan_.batch_bytes, in_step)
                     : make_spilling_queue(port.type, job_, q.memory_bytes, q.kept_bytes);
  }
}

void pipeline_builder::end_phase(size_t phase) {
  for (size_t i = 0; i < queues_.size(); ++i)
    if (phase_of_reader(plan_.queues[i]) == static_cast<int>(phase)) queues_[i].reset();
  for (int index : plan_.phases[phase].pipelines) {
    const plan::pipeline& p = plan_.pipelines[static_cast<size_t>(index)];
    for (std::any& state : stored_[static_cast<size_t>(p.head)]) state.reset();
    if (!p.control) results_[static_cast<size_t>(p.head)].clear();
    for (int node : p.nodes)
      for (std::any& state : stored_[static_cast<size_t>(node)]) state.reset();
  }
}

void pipeline_builder::forget_wakers() {
  for (const auto& q : queues_)
    if (q) q->forget_wakers();
  // When the job failed while vectors were being filled, their writes may still be under way, and would wake the stages
  // that filled them.
  if (!job_.cancelled()) return;
  for (auto& of_node : stored_)
    for (std::any& state : of_node) state.reset();
  if (streams_ != nullptr) streams_->out.clear();
}

void pipeline_builder::set_streams(stream_table* streams) {
  streams_ = streams;
  readers_left_.clear();
  if (streams == nullptr || !streams->in_is_used_up) return;
  for (const plan::node& n : graph_.nodes)
    if (plan::is_body_stream(n) && !n.outputs[0].consumers.empty()) ++readers_left_[n.id];
}

// The rows of a stream, for one of its readers.
shared_rows pipeline_builder::rows_of_stream(const std::string& id) {
  shared_rows& rows = streams_->in.at(id);
  const auto left = readers_left_.find(id);
  if (left == readers_left_.end() || --left->second > 0) return rows;
  return std::exchange(rows, nullptr);
}

shared_rows pipeline_builder::take_stored(size_t node, size_t input) {
  const plan::input_port& in = graph_.nodes[node].inputs[input];
  if (plan::lies_in_a_vector(graph_, in)) return rows_of_stream(graph_.nodes[static_cast<size_t>(in.from_node)].id);
  return std::any_cast<shared_rows>(std::exchange(stored_[node][input], {}));
}

std::unique_ptr<source> pipeline_builder::read_results(size_t node) {
  const plan::node& n = graph_.nodes[node];
  std::vector<vector_output> outputs;
  for (size_t port = 0; port < n.outputs.size(); ++port) {
    if (n.outputs[port].consumers.empty()) continue;
    FLOWRUN_CHECK(results_[node].at(port) != nullptr);
    outputs.push_back({static_cast<unsigned>(port), std::move(results_[node][port])});
  }
  return make_vector_source(std::move(outputs), plan_.share_of(static_cast<int>(node), plan::node_part::results),
                            plan_.batch_bytes);
}

expr::scalar_values pipeline_builder::scalars_of(size_t node) const {
  expr::scalar_values out;
  for (const plan::scalar_row& row : graph_.nodes[node].scalars)
    for (const expr::constant& value : row_values_[static_cast<size_t>(row.taken_by)])
      out.push_back({row.name + "." + value.name, value.type, value.bits});
  out.insert(out.end(), graph_.scalars.begin(), graph_.scalars.end());
  return out;
}

// What needs no operator: streams and results of bodies, rows that scalars come from, vectors that store inputs,
// results of control nodes.
bool pipeline_builder::build_engine_part(size_t node, plan::node_part part, size_t input, assembly& out) {
  const plan::node& n = graph_.nodes[node];
  if (plan::is_body_stream(n)) {
    out.head = make_vector_source({{0, rows_of_stream(n.id)}},
                                  plan_.share_of(static_cast<int>(node), plan::node_part::whole), plan_.batch_bytes);
  } else if (n.declaration == &plan::body_result()) {
    const plan::output_port& from = graph_.input_of(n, 0);
    auto rows = make_vector(from.type, n.facts.sought ? from.sorted_by : plan::order(), job_, result_memory_);
    streams_->out[n.id] = rows;
    out.stages.emplace_back(make_vector_sink(std::move(rows)));
  } else if (n.declaration == &plan::body_count()) {
    uint64_t& count = streams_->counts[n.id];
    count = 0;
    out.stages.emplace_back(make_count_sink(count));
  } else if (n.declaration == &plan::row_values()) {
    out.stages.emplace_back(make_row_values(graph_.input_of(n, 0).type, row_values_[node], graph_.input_name(n, 0),
                                            plan::readers_of_row(graph_, static_cast<int>(node))));
  } else if (n.declaration == &plan::waiting_rows()) {
    out.stages.emplace_back(make_passing_stage());
  } else if (n.stores() && part == plan::node_part::intake && n.inputs[input].as_vector) {
    const plan::output_port& from = graph_.input_of(n, input);
    const bool again = plan::is_sought_again(n);
    const bool seeks = n.role() != plan::operator_role::control || again;
    const auto index = static_cast<int>(node), at = static_cast<int>(input);
    const uint64_t kept = plan_.kept_of(index, at);
    auto rows = make_vector(from.type, seeks ? from.sorted_by : plan::order(), job_,
                            {again ? kept : plan_.share_of(index, plan::node_part::intake, at), kept, again});
    stored_[node][input] = shared_rows(rows);
    out.stages.emplace_back(make_vector_sink(std::move(rows)));
  } else if (n.role() == plan::operator_role::control) {
    out.head = read_results(node);
  } else {
    // A stored input that no stage fills, since its rows are in a vector already.
    if (part == plan::node_part::work)
      for (size_t k = 0; k < n.inputs.size(); ++k)
        if (plan::lies_in_a_vector(graph_, n.inputs[k])) stored_[node][k] = take_stored(node, k);
    return false;
  }
  return true;
}

assembly pipeline_builder::build_node(size_t node, plan::node_part part, size_t input,
                                      std::vector<input_stream*> inputs, uint64_t longest_row) {
  assembly own;
  if (build_engine_part(node, part, input, own)) return own;
  const plan::node& n = graph_.nodes[node];
  for (const plan::output_port& port : n.outputs)
    if (port.type.row_bytes() > longest_row) throw record::row_too_large(n.id, {port.type.row_bytes(), longest_row});
  const auto found = operators_.find(n.declaration->name);
  FLOWRUN_CHECK(found != operators_.end());
  uint64_t kept_bytes = 0;
  for (const plan::memory_share& share : plan_.shares)
    if (share.node == static_cast<int>(node) && share.part == part && share.input == static_cast<int>(input))
      kept_bytes = share.kept_bytes;
  build_context context{.graph = graph_,
                        .node = n,
                        .inputs = std::move(inputs),
                        .job = job_,
                        .memory_bytes = plan_.share_of(static_cast<int>(node), part, static_cast<int>(input)),
                        .kept_bytes = kept_bytes,
                        .sort = plan_.sort_of(static_cast<int>(node)),
                        .batches = {plan_.batch_bytes, longest_row},
                        .part = part,
                        .input = input,
                        .state = states_[node],
                        .counters = counters_[node],
                        .states = stored_[node],
                        .begin_at = begin_at_.source.empty() ? nullptr : &begin_at_.source,
                        .notes_positions = notes_positions_,
                        .scalars = scalars_of(node)};
  try {
    return found->second->build(context);
  } catch (const expr::call_failed& cause) {  // for the value of a scalar
    throw expr::call_failed(n.id, cause);
  }
}

std::vector<std::vector<uint32_t>>& pipeline_builder::children_of(pipeline_tree& tree, const tail& t) const {
  return t.is_head ? tree.head_children : tree.stages[t.stage].children;
}

void pipeline_builder::attach(pipeline_tree& tree, const tail& parent, unsigned port, uint32_t child) const {
  auto& children = children_of(tree, parent);
  if (children.size() <= port) children.resize(port + 1);
  children[port].push_back(child);
}

// Neighbouring programs become one (decision D2) when no other node reads the rows between them. What the head's node
// gives on stays apart: progress is measured there.
bool pipeline_builder::fuse(pipeline_tree& tree, size_t node, stage& next, const tail& parent,
                            std::map<int, tail>& tails) {
  if (parent.is_head) return false;
  const plan::input_port& from = graph_.nodes[node].inputs[graph_.nodes[node].flowing_input()];
  const plan::node& before = graph_.nodes[static_cast<size_t>(from.from_node)];
  if (before.role() != plan::operator_role::stateless) return false;
  if (before.outputs.size() != 1 || before.outputs[0].consumers.size() != 1) return false;
  auto* first = std::get_if<std::unique_ptr<stateless_stage>>(&tree.stages[parent.stage].work);
  auto* second = std::get_if<std::unique_ptr<stateless_stage>>(&next);
  if (first == nullptr || second == nullptr) return false;
  const auto* first_program = dynamic_cast<const program_stage*>(first->get());
  const auto* second_program = dynamic_cast<const program_stage*>(second->get());
  if (first_program == nullptr || second_program == nullptr) return false;
  pipeline_tree::node& fused = tree.stages[parent.stage];
  fused.work = std::unique_ptr<stateless_stage>(
      program_stage::fuse(*first_program, before.id, *second_program, graph_.nodes[node].id));
  fused.name = graph_.nodes[node].id;
  fused.busy = fused.output = &counters_[node];
  fused.tap = taps_[node].get();
  fused_with_[static_cast<size_t>(from.from_node)] = static_cast<int>(node);
  tails[static_cast<int>(node)] = parent;
  return true;
}

void pipeline_builder::add_stages(pipeline_tree& tree, size_t node, std::vector<stage> stages, const tail* parent,
                                  unsigned port, std::map<int, tail>& tails) {
  if (parent != nullptr && stages.size() == 1 && fuse(tree, node, stages[0], *parent, tails)) return;
  tail at = parent != nullptr ? *parent : tail{true, 0};
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto index = static_cast<uint32_t>(tree.stages.size());
    pipeline_tree::node n;
    n.work = std::move(stages[i]);
    n.name = graph_.nodes[node].id;
    n.busy = &counters_[node];
    n.input = i == 0 && parent != nullptr ? &counters_[node] : nullptr;
    n.output = i + 1 == stages.size() ? &counters_[node] : nullptr;
    row_tap* const tap = taps_[node].get();
    if (tap != nullptr && (tap->takes_input() ? n.input : n.output) != nullptr) n.tap = tap;
    tree.stages.push_back(std::move(n));
    attach(tree, at, i == 0 ? port : 0, index);
    at = {false, index};
  }
  tails[static_cast<int>(node)] = at;
}

void pipeline_builder::build_head(pipeline_tree& tree, const plan::pipeline& p, std::map<int, tail>& tails) {
  const auto head = static_cast<size_t>(p.head);
  std::vector<input_stream*> inputs(graph_.nodes[head].inputs.size());
  bool reads_queues = false;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (plan_.queues[i].to_node != p.head) continue;
    inputs[static_cast<size_t>(plan_.queues[i].to_input)] = queues_[i].get();
    reads_queues = true;
  }
  if (!reads_queues) inputs.clear();
  input_stream* const flowing = reads_queues ? inputs[graph_.nodes[head].flowing_input()] : nullptr;
  assembly first = build_node(head, plan::part_in(graph_, p, p.head), 0, std::move(inputs), tree.limits.row_bytes);
  // A stage that was cut off from the pipeline it would flow in.
  if (first.head == nullptr && flowing != nullptr) first.head = make_queue_source(*flowing);
  FLOWRUN_CHECK(first.head != nullptr);
  tree.head = std::move(first.head);
  tree.head_name = graph_.nodes[head].id;
  tree.head_busy = &counters_[head];
  if (first.stages.empty()) {
    tree.head_output = &counters_[head];
    tree.head_tap = taps_[head].get();
    tails[p.head] = {true, 0};
  } else {
    add_stages(tree, head, std::move(first.stages), nullptr, 0, tails);
  }
}

void pipeline_builder::add_store(pipeline_tree& tree, const plan::stored_input& s, const std::map<int, tail>& tails) {
  const auto node = static_cast<size_t>(s.node);
  const plan::input_port& from = graph_.nodes[node].inputs[static_cast<size_t>(s.input)];
  assembly built = build_node(node, plan::node_part::intake, static_cast<size_t>(s.input), {}, tree.limits.row_bytes);
  FLOWRUN_CHECK(!built.stages.empty());
  tail at = tails.at(from.from_node);
  for (size_t i = 0; i < built.stages.size(); ++i) {
    const auto index = static_cast<uint32_t>(tree.stages.size());
    pipeline_tree::node n;
    n.work = std::move(built.stages[i]);
    n.name = graph_.nodes[node].id;
    n.busy = &counters_[node];
    n.input = i == 0 ? &counters_[node] : nullptr;
    tree.stages.push_back(std::move(n));
    attach(tree, at, i == 0 ? static_cast<unsigned>(from.from_port) : 0, index);
    at = {false, index};
  }
}

void pipeline_builder::add_queue(pipeline_tree& tree, int queue, const std::map<int, tail>& tails) {
  const plan::queue& edge = plan_.queues[static_cast<size_t>(queue)];
  const auto stage_index = static_cast<uint32_t>(tree.stages.size());
  pipeline_tree::node sink;
  sink.work = make_queue_sink(*queues_[static_cast<size_t>(queue)]);
  sink.name = graph_.nodes[static_cast<size_t>(edge.from_node)].id;
  sink.busy = &counters_[static_cast<size_t>(edge.from_node)];
  sink.input = &counters_[static_cast<size_t>(edge.to_node)];
  tree.stages.push_back(std::move(sink));
  attach(tree, tails.at(edge.from_node), static_cast<unsigned>(edge.from_port), stage_index);
}

// Where the rows of a single breaker or sink come from a source or a sort through stages whose state can be kept, a
// later process can begin at a position of that source. (Which sources can tell theirs, and which stages their state,
// is seen when they are built.)
void pipeline_builder::go_on(const plan::pipeline& p) {
  begin_at_ = {};
  notes_positions_ = false;
  if (job_.manifest() == nullptr || p.control || p.nodes.empty() || !p.queues.empty() || !p.stores.empty()) return;
  const auto role_of = [&](int node) {
    const plan::node& n = graph_.nodes[static_cast<size_t>(node)];
    return n.elided ? plan::operator_role::ordered : n.role();
  };
  if (plan::is_internal(graph_.nodes[static_cast<size_t>(p.nodes.back())])) return;
  const plan::operator_role head = role_of(p.head), end = role_of(p.nodes.back());
  if (head != plan::operator_role::source && head != plan::operator_role::breaker) return;
  if (end != plan::operator_role::breaker && end != plan::operator_role::sink) return;
  if (!std::all_of(p.nodes.begin(), p.nodes.end() - 1, [&](int node) {
        return role_of(node) == plan::operator_role::stateless || role_of(node) == plan::operator_role::ordered;
      }))
    return;
  notes_positions_ = true;
  const std::string& id = graph_.nodes[static_cast<size_t>(p.nodes.back())].id;
  begin_at_ = end == plan::operator_role::sink ? job_.manifest()->output(id).before().position
                                               : job_.manifest()->sort(id).before().position;
}

// What the stages in front of the end have seen a later process wouldn't see again.
bool pipeline_builder::have_states(const pipeline_tree& tree, const ordered_stage* end) {
  return std::all_of(tree.stages.begin(), tree.stages.end(), [&](const pipeline_tree::node& n) {
    const auto* const in_order = std::get_if<std::unique_ptr<ordered_stage>>(&n.work);
    return in_order == nullptr || in_order->get() == end || (*in_order)->has_state();
  });
}

// Once all stages are there, of which the end may have made some.
void pipeline_builder::keep_states(pipeline_tree& tree) {
  if (!notes_positions_) return;
  std::vector<ordered_stage*> stages;
  for (pipeline_tree::node& n : tree.stages)
    if (auto* const in_order = std::get_if<std::unique_ptr<ordered_stage>>(&n.work)) stages.push_back(in_order->get());
  if (!stages.empty()) tree.notes_positions = have_states(tree, stages.back());
  if (tree.notes_positions) {
    stages.pop_back();
    for (ordered_stage* const s : stages) s->keep_state();
  }
  if (begin_at_.source.empty()) return;
  if (!tree.notes_positions || begin_at_.states.size() != stages.size())
    throw error(error_kind::io, "what an earlier process has left of a pipeline doesn't fit its stages",
                "run the job again: it starts over");
  for (size_t i = 0; i < stages.size(); ++i) stages[i]->begin_with(begin_at_.states[i]);
}

pipeline_tree pipeline_builder::build(size_t index) {
  const plan::pipeline& p = plan_.pipelines[index];
  go_on(p);
  pipeline_tree tree;
  tree.limits = {.num_bytes = plan_.batch_bytes, .row_bytes = plan_.longest_row(static_cast<size_t>(p.phase))};
  tree.most_parked_bytes = sizes::parked_bytes(plan_.phases[static_cast<size_t>(p.phase)].pipelines.size());
  std::map<int, tail> tails;
  build_head(tree, p, tails);
  for (int member : p.nodes) {
    const auto node = static_cast<size_t>(member);
    if (member == p.nodes.back()) notes_positions_ &= have_states(tree, nullptr);
    const plan::input_port& from = graph_.nodes[node].inputs[graph_.nodes[node].flowing_input()];
    assembly built = build_node(node, plan::part_in(graph_, p, member), 0, {}, tree.limits.row_bytes);
    const tail parent = tails.at(from.from_node);
    const bool ends_here = graph_.nodes[node].role() == plan::operator_role::breaker;
    add_stages(tree, node, std::move(built.stages), &parent, static_cast<unsigned>(from.from_port), tails);
    // The merging part counts what a breaker gives on.
    if (ends_here) tree.stages[tails.at(member).stage].output = nullptr;
    if (ends_here) tree.stages[tails.at(member).stage].tap = nullptr;
  }
  for (const plan::stored_input& s : p.stores) add_store(tree, s, tails);
  for (int q : p.queues) add_queue(tree, q, tails);
  keep_states(tree);
  return tree;
}

}  // namespace flowrun::exec
