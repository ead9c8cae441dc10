#include "engine/plan/plan_message.h"

#include "engine/base/error.h"
#include "specs/job_name.h"
#include "specs/json_document.h"

namespace flowrun::plan {

namespace {

uint32_t index(int i) { return static_cast<uint32_t>(i); }

void add_sort_facts(const sort_facts& f, PlanSortFacts& out) {
  out.set_limit_rows(f.limit_rows);
  out.set_long_runs(f.long_runs);
  out.set_compressed(f.compressed);
  out.set_unique(f.unique);
  out.set_drops_equal(f.drops_equal);
  out.set_indexed(f.indexed);
  if (f.row_bytes) out.set_row_bytes(*f.row_bytes);
  if (f.num_bytes) out.set_bytes(*f.num_bytes);
}

void add_facts(const node_facts& f, PlanFacts& out) {
  out.set_rows_behind(f.rows_behind);
  if (f.input_bytes) out.set_input_bytes(*f.input_bytes);
  const auto put = [](const index_facts& index, PlanIndexFacts& to) {
    if (index.num_bytes) to.set_bytes(*index.num_bytes);
  };
  if (f.index) put(*f.index, *out.mutable_index());
  if (f.seeks_in_file) put(*f.seeks_in_file, *out.mutable_seeks_in_file());
  if (f.partitions) {
    PlanPartitionFacts& partitions = *out.mutable_partitions();
    for (const std::string& column : f.partitions->columns) partitions.add_columns(column);
    partitions.set_max_files(f.partitions->max_files);
    partitions.set_one_after_another(f.partitions->one_after_another);
  }
  out.set_seeks(f.seeks);
  out.set_sought(f.sought);
  if (f.stored_bytes) out.set_stored_bytes(*f.stored_bytes);
}

void add_node(const node& n, PhysicalPlan& out) {
  PlanNode& m = *out.add_nodes();
  m.set_id(n.id);
  m.set_op(n.declaration->name);
  m.set_role(to_string(n.role()));
  m.set_elided(n.elided);
  for (const input_port& in : n.inputs) {
    PlanInput& i = *m.add_inputs();
    i.set_name(in.name);
    i.set_from_node(index(in.from_node));
    i.set_from_port(index(in.from_port));
    i.set_stored(in.stored);
  }
  for (const output_port& port : n.outputs) {
    PlanOutput& o = *m.add_outputs();
    o.set_name(port.name);
    for (const record::column& c : port.type.columns()) {
      PlanColumn& column = *o.add_columns();
      column.set_name(c.name);
      column.set_type(record::to_string(c.type));
    }
    *o.mutable_sorted_by() = to_proto(port.sorted_by);
    PlanEstimate& e = *o.mutable_estimate();
    e.set_known(port.estimate.known);
    e.set_exact(port.estimate.exact);
    e.set_rows(port.estimate.rows);
    e.set_bytes(port.estimate.num_bytes);
  }
  for (const scalar_row& row : n.scalars) {
    PlanScalars& s = *m.add_scalars();
    s.set_name(row.name);
    s.set_taken_by(index(row.taken_by));
  }
  add_facts(n.facts, *m.mutable_facts());
  if (n.role() == operator_role::breaker) add_sort_facts(n.facts.sort, *m.mutable_facts()->mutable_sort());
}

void add_sort(const sort_prediction& s, PhysicalPlan& out) {
  PlanSort& m = *out.add_sorts();
  m.set_node(index(s.node));
  m.set_known(s.known);
  m.set_rows(s.rows);
  m.set_bytes(s.num_bytes);
  m.set_runs(s.runs);
  m.set_fan_in(s.fan_in);
  m.set_merge_passes(s.merge_passes);
  m.set_written_bytes(s.written_bytes);
  m.set_compressed(s.compressed);
  m.set_in_blocks(s.in_blocks);
  m.set_read_bytes(s.read_bytes);
  m.set_block_bytes(s.block_bytes);
  m.set_kept_bytes(s.kept_bytes);
  m.set_write_buffers(s.creator.write_buffers);
  m.set_read_buffers(s.merger.num_buffers);
}

void add_structure(const physical_plan& plan, PhysicalPlan& out) {
  for (const pipeline& p : plan.pipelines) {
    PlanPipeline& m = *out.add_pipelines();
    m.set_head(index(p.head));
    for (int n : p.nodes) m.add_nodes(index(n));
    for (int q : p.queues) m.add_queues(index(q));
    m.set_phase(index(p.phase));
    m.set_control(p.control);
    for (const stored_input& s : p.stores) {
      PlanStoredInput& stored = *m.add_stores();
      stored.set_node(index(s.node));
      stored.set_input(index(s.input));
    }
  }
  for (const queue& q : plan.queues) {
    PlanQueue& m = *out.add_queues();
    m.set_from_node(index(q.from_node));
    m.set_from_port(index(q.from_port));
    m.set_to_node(index(q.to_node));
    m.set_to_input(index(q.to_input));
    m.set_spilling(q.kind == queue_kind::spilling);
    m.set_reason(q.reason);
    m.set_memory_bytes(q.memory_bytes);
  }
  for (const phase& p : plan.phases) {
    PlanPhase& m = *out.add_phases();
    for (int line : p.pipelines) m.add_pipelines(index(line));
    m.set_memory_bytes(p.memory_bytes);
    m.set_batches_bytes(p.batches_bytes);
    m.set_held_bytes(p.held_bytes);
  }
  for (const memory_share& s : plan.shares) {
    PlanMemoryShare& m = *out.add_memory();
    m.set_node(index(s.node));
    m.set_part(to_string(s.part));
    m.set_input(index(s.input));
    m.set_phase(index(s.phase));
    m.set_minimum_bytes(s.minimum);
    m.set_given_bytes(s.given);
    m.set_maximum_bytes(s.maximum);
    m.set_kept_bytes(s.kept_bytes);
  }
}

}  // namespace

google::protobuf::RepeatedPtrField<PlanOrderTerm> to_proto(const order& o) {
  google::protobuf::RepeatedPtrField<PlanOrderTerm> out;
  for (const order_term& term : o) {
    PlanOrderTerm& t = *out.Add();
    t.set_column(term.column);
    t.set_descending(term.descending);
    t.set_from(term.from);
    t.set_length(term.length);
  }
  return out;
}

PhysicalPlan to_proto(const graph& g, const physical_plan& plan) {
  PhysicalPlan out;
  if (g.job) {
    out.set_job(specs::job_name(*g.job));
    out.set_file(g.job->file());
  }
  PlanMachine& machine = *out.mutable_machine();
  machine.set_memory_bytes(plan.resources.memory_bytes);
  machine.set_threads(plan.resources.threads);
  machine.set_disks(plan.resources.num_disks);
  machine.set_block_bytes(plan.resources.block_bytes);
  machine.set_batch_bytes(plan.resources.batch_bytes);
  machine.set_disk_depth(plan.resources.disk_depth);
  out.set_batch_bytes(plan.batch_bytes);
  for (const node& n : g.nodes) add_node(n, out);
  add_structure(plan, out);
  for (const sort_prediction& s : plan.sorts) add_sort(s, out);
  for (const body_plan& b : plan.bodies) {
    const graph& body = *g.nodes[static_cast<size_t>(b.node)].bodies[b.body];
    PlanBody& m = *out.add_bodies();
    m.set_node(index(b.node));
    m.set_path(body.path);
    *m.mutable_plan() = to_proto(body, *b.plan);
  }
  PlanTotals& totals = *out.mutable_predicted();
  totals.set_known(plan.prediction_known);
  totals.set_input_bytes(plan.predicted_input_bytes);
  totals.set_scratch_written_bytes(plan.predicted_scratch_written);
  totals.set_scratch_read_bytes(plan.predicted_scratch_read);
  totals.set_output_bytes(plan.predicted_output_bytes);
  totals.set_peak_scratch_bytes(plan.predicted_peak_scratch);
  totals.set_peak_memory_bytes(plan.predicted_peak_memory);
  return out;
}

std::string explain_json(const PhysicalPlan& plan) { return specs::json_document(plan); }

}  // namespace flowrun::plan
