#include "engine/plan/prediction.h"

#include <algorithm>
#include <bit>

#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/memory.h"
#include "engine/plan/sort_request.h"
#include "engine/plan/stored_pass.h"
#include "engine/record/row_codec.h"
#include "engine/sizes/container_block.h"
#include "specs/value.h"

namespace flowrun::plan {

sizes::sort_request request_of(const graph& g, const node& n, const machine& resources) {
  const output_port& in = g.input_of(n, 0);
  sizes::sort_request r;
  r.known = in.estimate.known;
  r.rows = in.estimate.rows;
  r.num_bytes = in.estimate.num_bytes;
  r.row_bytes = in.type.row_bytes();
  // Rows with strings, wide ones, and narrow ones whose input order matters (sort_facts::indexed).
  r.indexed = !record::row_codec::fits(in.type) || n.facts.sort.indexed;
  // Partial results of a sort that combines, and rows with a hidden key, have a width of their own.
  if (const auto width = n.facts.sort.row_bytes) {
    r.indexed = n.facts.sort.indexed;
    r.num_bytes = expected(
        bound_plus(r.num_bytes - std::min(r.num_bytes, bound_times(r.rows, r.row_bytes)), bound_times(r.rows, *width)));
    r.row_bytes = *width;
  }
  if (n.facts.sort.limit_rows > 0) r.limit_rows = n.facts.sort.limit_rows;
  r.long_runs = n.facts.sort.long_runs;
  r.compressed = n.facts.sort.compressed;
  r.dedups = n.facts.sort.drops_equal;
  r.unique = n.facts.sort.unique;
  r.block_bytes = resources.block_bytes;
  r.num_disks = resources.num_disks;
  r.disk_depth = resources.disk_depth;
  r.threads = resources.threads;
  return r;
}

namespace {

bool reads_files(const node& n) {
  return n.spec && std::any_of(n.declaration->parameters.begin(), n.declaration->parameters.end(),
                               [&](const parameter_declaration& p) {
                                 return (p.kind == parameter_kind::path || p.kind == parameter_kind::paths) &&
                                        specs::find(n.spec->with(), p.name);
                               });
}

// A pass of the node's own with what it was given; nullopt: it has none.
std::optional<stored_pass> pass_of(const graph& g, int index, int input, const physical_plan& plan) {
  const node& n = g.nodes[static_cast<size_t>(index)];
  if (n.facts.pass == nullptr) return std::nullopt;
  return n.facts.pass(
      g.input_of(n, static_cast<size_t>(input)).estimate,
      {plan.share_of(index, node_part::intake, input), plan.kept_of(index, input), plan.resources.block_bytes});
}

// Instead of a sort. Its buffers stay as they were planned: forced to spill, what fits is sorted after all.
void put_pass(const stored_pass& pass, sort_prediction& out) {
  out.known = true;
  out.rows = pass.rows;
  out.num_bytes = pass.num_bytes;
  out.in_blocks = pass.loads > 0;
  out.runs = out.fan_in = pass.loads;
  out.merge_passes = pass.loads > 0 ? 1 : 0;
  out.written_bytes = out.read_bytes = out.peak_bytes = pass.written_bytes;
  out.kept_bytes = pass.loads > 0 ? 0 : pass.num_bytes;
  if (pass.loads > 0) out.block_bytes = pass.block_bytes;
}

// What rows of a sort take as the blocks of its runs. Intermediate merges make runs too, and how many the first ones
// are is known to within one.
uint64_t in_blocks(uint64_t num_bytes, const sizes::sort_request& request, const sizes::sort_plan& sort) {
  const uint64_t row_bytes = request.rows > 0 ? request.num_bytes / request.rows : request.row_bytes;
  const uint64_t fewer = sort.expected.fan_in - 1;  // runs, after an intermediate merge
  const uint64_t merges = sort.passes > 1 ? sort.runs / fewer + sort.passes : 0;
  return sizes::bytes_in_blocks(num_bytes, row_bytes, sort.runs + merges + (request.long_runs ? 1 : 0),
                                sort.expected.block_bytes);
}

// Rows on scratch.
struct spilled_rows {
  uint64_t written_bytes = 0;
  uint64_t peak_bytes = 0;
};

uint64_t row_of(const output_port& rows) {
  return std::max<uint64_t>(rows.estimate.num_bytes / std::max<uint64_t>(rows.estimate.rows, 1), rows.type.row_bytes());
}

// All rows but `kept` bytes of them, and what comes and goes as a whole with these.
spilled_rows spilled(const output_port& rows, uint64_t kept, uint64_t whole, uint64_t block_bytes,
                     const machine& resources) {
  const uint64_t stays = kept - std::min(kept, std::max(whole, std::bit_ceil(row_of(rows))));
  const uint64_t written = sizes::bytes_in_container(rows.estimate.num_bytes - std::min(rows.estimate.num_bytes, stays),
                                                     row_of(rows), block_bytes);
  const uint64_t block = sizes::block_for_row(row_of(rows), block_bytes);
  return {written, written == 0 ? 0 : written + sizes::allocated_ahead(resources.num_disks, block)};
}

spilled_rows spilled_by_queue(const output_port& rows, const queue& q, const physical_plan& plan) {
  const uint64_t block = sizes::container_block(rows.type.row_bytes(), sizes::choose_block(q.memory_bytes));
  const uint64_t kept = sizes::rows_of_queue(q.memory_bytes, q.kept_bytes, block);
  if (rows.estimate.num_bytes <= kept) return {};
  return spilled(rows, kept, plan.batch_bytes, block, plan.resources);
}

// What is sought in and doesn't fit goes to scratch as a whole; its memory is for what is read from there.
spilled_rows spilled_by_vector(const output_port& rows, uint64_t given, uint64_t kept, bool sought,
                               const machine& resources) {
  if (rows.estimate.num_bytes <= kept) return {};
  const uint64_t chosen = resources.block_bytes > 0 ? sizes::asked_block(resources.block_bytes, given)
                          : sought                  ? sizes::choose_sought_block(given)
                                                    : sizes::choose_block(given);
  const uint64_t block = sizes::container_block(rows.type.row_bytes(), chosen);
  const unsigned buffers = sizes::vector_write_buffers(given, block, resources.num_disks, resources.disk_depth);
  const uint64_t stays = sought ? 0 : sizes::rows_of_vector(given, kept, block, buffers);
  return spilled(rows, stays, sizes::largest_piece, block, resources);
}

sort_prediction predict_sort(const graph& g, const pipeline_layout& layout, int index, const physical_plan& plan) {
  const node& n = g.nodes[static_cast<size_t>(index)];
  sizes::sort_request request = request_of(g, n, plan.resources);
  request.create_bytes = plan.share_of(index, node_part::intake);
  request.merge_bytes = plan.share_of(index, node_part::work);
  request.kept_bytes = plan.kept_of(index);
  request.halves = most_halves(plan, layout, index);
  const sizes::sort_plan sort = sizes::plan_sort(request);
  sort_prediction out;
  out.node = index;
  out.known = request.known;
  out.rows = request.rows;
  out.num_bytes = request.num_bytes;
  out.runs = sort.runs;
  out.fan_in = request.known ? sort.fan_in : sort.expected.fan_in;
  out.merge_passes = sort.passes;
  out.block_bytes = sort.expected.block_bytes;
  out.written_bytes = out.read_bytes = in_blocks(sort.written_bytes, request, sort);
  out.peak_bytes = in_blocks(request.num_bytes - std::min(request.num_bytes, sort.kept_bytes), request, sort) +
                   sizes::allocated_ahead(request.num_disks, sort.expected.block_bytes);
  out.creator = sort.creator;
  out.merger = sort.merger;
  out.kept_bytes = sort.kept_bytes;
  out.compressed = request.compressed;
  if (const std::optional<stored_pass> pass = pass_of(g, index, 0, plan)) put_pass(*pass, out);
  return out;
}

// The least that a sort's run creation has on scratch when it ends: where the size is known exactly, all that its
// memory can't hold. Rows take no less in memory than on scratch.
uint64_t certainly_written(const graph& g, int index, const physical_plan& plan) {
  const node& n = g.nodes[static_cast<size_t>(index)];
  const output_port& in = g.input_of(n, 0);
  const sizes::sort_request request = request_of(g, n, plan.resources);
  const bool shrinks = request.limit_rows > 0 || request.dedups || request.unique || request.compressed;
  if (!in.estimate.exact || in.type.has_strings() || shrinks || pass_of(g, index, 0, plan)) return 0;
  return request.num_bytes - std::min(request.num_bytes, plan.share_of(index, node_part::intake));
}

}  // namespace

std::optional<uint64_t> certain_output_bytes(const graph& g, const node& sink) {
  const row_estimate& rows = g.input_of(sink, sink.flowing_input()).estimate;
  if (!rows.known || !rows.exact || !sink.facts.written_row_bytes) return std::nullopt;
  return bound_times(rows.rows, *sink.facts.written_row_bytes);
}

void predict(const graph& g, const pipeline_layout& layout, physical_plan& plan) {
  const size_t num_phases = plan.phases.size();
  std::vector<uint64_t> at_start(num_phases, 0), at_end(num_phases, 0), certain(num_phases, 0);
  // `num_bytes` are stored in phase `from` and read in phase `to`; `kept`: until that is over.
  auto store = [&](int from, int to, uint64_t num_bytes, bool kept = false) {
    for (int x = from; x <= to; ++x) {
      if (x > from) at_start[static_cast<size_t>(x)] += num_bytes;
      if (x < to || from == to || kept) at_end[static_cast<size_t>(x)] += num_bytes;
    }
  };
  // All figures are bounds as long as the sizes are that they are made from.
  auto count = [&](const row_estimate& estimate) {
    plan.prediction_known = plan.prediction_known && estimate.known;
    plan.prediction_bounds = plan.prediction_bounds && (!estimate.known || estimate.bounds_bytes());
  };
  auto phase_of = [&](int pipeline) { return plan.pipelines[static_cast<size_t>(pipeline)].phase; };
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    if (n.role() == operator_role::breaker) {
      const sort_prediction sort = predict_sort(g, layout, static_cast<int>(i), plan);
      count(g.input_of(n, 0).estimate);
      certain[static_cast<size_t>(phase_of(layout.feeds[i]))] += certainly_written(g, static_cast<int>(i), plan);
      plan.predicted_scratch_written += sort.written_bytes;
      plan.predicted_scratch_read += sort.read_bytes;
      store(phase_of(layout.feeds[i]), phase_of(layout.gives[i]), sort.merge_passes > 0 ? sort.peak_bytes : 0);
      plan.sorts.push_back(sort);
    } else if (n.role() == operator_role::control) {
      plan.prediction_known = false;  // how often it runs its bodies can't be known
    } else if (n.role() == operator_role::source) {
      if (n.facts.input_bytes)
        plan.predicted_input_bytes += *n.facts.input_bytes;
      else if (reads_files(n))
        plan.prediction_known = false;
    } else if (n.role() == operator_role::sink) {
      const row_estimate& estimate = g.input_of(n, n.flowing_input()).estimate;
      count(estimate);
      if (!estimate.known) continue;
      const auto& width = n.facts.written_row_bytes;
      plan.predicted_output_bytes =
          bound_plus(plan.predicted_output_bytes, width ? bound_times(estimate.rows, *width) : estimate.num_bytes);
      plan.output_as_rows = plan.output_as_rows || !width;
    }
  }
  for (const queue& q : plan.queues) {
    if (q.kind != queue_kind::spilling) continue;
    const output_port& rows = g.nodes[static_cast<size_t>(q.from_node)].outputs[static_cast<size_t>(q.from_port)];
    const row_estimate& estimate = rows.estimate;
    const int from = phase_of(layout.gives[static_cast<size_t>(q.from_node)]),
              to = phase_of(layout.gives[static_cast<size_t>(q.to_node)]);
    count(estimate);
    // Within one phase a queue holds how far apart its branches run, at most all of it; between phases everything.
    if (!estimate.known) continue;
    const spilled_rows spilled = spilled_by_queue(rows, q, plan);
    plan.predicted_scratch_written += spilled.written_bytes;
    plan.predicted_scratch_read += spilled.written_bytes;
    store(from, to, spilled.peak_bytes);
  }
  for (size_t p = 0; p < plan.pipelines.size(); ++p)
    for (const stored_input& s : plan.pipelines[p].stores) {
      const node& n = g.nodes[static_cast<size_t>(s.node)];
      const bool own = n.facts.pass != nullptr;
      if (!own && !n.inputs[static_cast<size_t>(s.input)].as_vector) continue;
      const output_port& rows = g.input_of(n, static_cast<size_t>(s.input));
      const row_estimate& estimate = rows.estimate;
      count(estimate);
      if (!estimate.known) continue;
      const std::optional<stored_pass> pass = pass_of(g, s.node, s.input, plan);
      const spilled_rows spilled =
          pass ? spilled_rows{pass->written_bytes, pass->written_bytes}
               : spilled_by_vector(rows, plan.share_of(s.node, node_part::intake, s.input),
                                   plan.kept_of(s.node, s.input), is_sought_again(n), plan.resources);
      plan.predicted_scratch_written += spilled.written_bytes;
      plan.predicted_scratch_read += spilled.written_bytes;
      store(plan.pipelines[p].phase, phase_of(layout.uses(s.node)), spilled.peak_bytes, true);
    }
  for (size_t x = 0; x < num_phases; ++x)
    plan.predicted_peak_scratch = std::max({plan.predicted_peak_scratch, at_start[x], at_end[x]});
  for (const uint64_t num_bytes : certain) plan.certain_peak_scratch = std::max(plan.certain_peak_scratch, num_bytes);
}

}  // namespace flowrun::plan
