#include "engine/exec/pipeline_progress.h"

#include <algorithm>
#include <optional>

namespace flowrun::exec {

namespace {

// Below this share of a pipeline's work, a guess at the rest would jump about.
constexpr double least_share = 0.02;

// Nanoseconds that a sort keeps a thread busy for each byte of its rows, and for each row: making runs of them and
// merging the runs. Measured on one machine, as the processor time of sorts of 0.4 to 2 GB that spill; only the
// proportions matter, since a node's own speed is measured as soon as it works.
struct sort_work {
  double making_bytes = 1.9;
  double making_rows = 0;
  double merging_bytes = 0.9;
  double merging_rows = 0;
};
constexpr sort_work fixed_rows{.making_rows = 16, .merging_rows = 17};
// Runs are made by comparing texts, which costs more or less with what they have in common; merging them compares what
// was found out before (offset-value codes).
constexpr sort_work rows_with_strings{.making_rows = 300, .merging_rows = 85};

// How many nanoseconds a byte keeps a thread busy (operator_declaration::work_per_byte), of rows of `row_bytes`.
double work_per_byte(const plan::node& n, plan::node_part part, bool strings, double row_bytes) {
  if (n.declaration->work_per_byte > 0) return n.declaration->work_per_byte;
  const sort_work& sort = strings ? rows_with_strings : fixed_rows;
  switch (n.role()) {
    case plan::operator_role::source: return 0.2;
    case plan::operator_role::sink: return 0.4;
    case plan::operator_role::breaker:
      return part == plan::node_part::intake ? sort.making_bytes + sort.making_rows / row_bytes
                                             : sort.merging_bytes + sort.merging_rows / row_bytes;
    default: return 2;
  }
}

class measuring {
 public:
  measuring(const plan::graph& g, const plan::physical_plan& plan, const std::deque<node_counters>& counters,
            size_t phase_now)
      : graph_(g), plan_(plan), counters_(counters), now_(static_cast<int>(phase_now)) {}

  std::vector<metrics::pipeline_work> measure() const {
    std::vector<metrics::pipeline_work> out;
    std::vector<demand_by_nodes> demands;
    for (const plan::pipeline& p : plan_.pipelines) {
      if (head_of(p).role() == plan::operator_role::meeting) continue;  // which moves with what feeds it
      out.push_back(work_of(p));
      demands.push_back(out.back().open ? demand_by_nodes() : demand_of(p, out.back()));
    }
    const node_speeds speeds = speeds_of(out, demands);
    for (size_t i = 0; i < out.size(); ++i) {
      for (const node_share& s : demands[i].shares)
        demands[i].all.processor += s.work * speeds.of_nodes[static_cast<size_t>(s.node)].value_or(speeds.of_others);
      out[i].all = demands[i].all;
    }
    return out;
  }

 private:
  // Of the work of a pipeline, in bytes times work_per_byte.
  struct node_share {
    int node = 0;
    double work = 0;
  };
  struct demand_by_nodes {
    metrics::demand all = {};  // without the processors
    std::vector<node_share> shares = {};
  };
  // Seconds of a thread for a unit of work.
  struct node_speeds {
    std::vector<std::optional<double>> of_nodes;
    double of_others = 1;
  };

  const plan::node& head_of(const plan::pipeline& p) const { return graph_.nodes[static_cast<size_t>(p.head)]; }

  metrics::pipeline_work work_of(const plan::pipeline& p) const {
    metrics::pipeline_work out;
    out.phase = static_cast<size_t>(p.phase);
    out.open = p.control;
    if (p.control) return out;
    const node_counters& c = counters_[static_cast<size_t>(p.head)];
    if (head_of(p).role() == plan::operator_role::breaker)
      measure_merge(p, c, out);
    else
      measure_source(p, c, out);
    if (p.phase < now_) {
      out.total = out.done;
      out.open = false;
      out.exact = true;
    }
    return out;
  }

  // A sort node takes rows in and merges them under one counter of time, so that the merge is expected to go as the
  // making of its runs did, and later as both together. Nodes that have not begun are expected to go as those that
  // have, but for sorts of strings, of which each has a speed of its own.
  node_speeds speeds_of(const std::vector<metrics::pipeline_work>& pipelines,
                        const std::vector<demand_by_nodes>& demands) const {
    std::vector<double> done(graph_.nodes.size(), 0);
    for (size_t i = 0; i < pipelines.size(); ++i) {
      const metrics::pipeline_work& p = pipelines[i];
      if (p.open || p.total <= 0 || p.done < least_share * p.total) continue;
      const double share = std::min(p.done / p.total, 1.0);
      for (const node_share& s : demands[i].shares) done[static_cast<size_t>(s.node)] += s.work * share;
    }
    node_speeds out;
    out.of_nodes.resize(done.size());
    double all_work = 0;
    double all_seconds = 0;
    double alike_work = 0;  // without sorts of strings
    double alike_seconds = 0;
    for (size_t i = 0; i < done.size(); ++i) {
      if (done[i] <= 0) continue;
      const double seconds = static_cast<double>(counters_[i].busy_ns) * 1e-9;
      out.of_nodes[i] = seconds / done[i];
      all_work += done[i];
      all_seconds += seconds;
      const plan::node& n = graph_.nodes[i];
      if (n.role() == plan::operator_role::breaker && graph_.input_of(n, 0).type.has_strings()) continue;
      alike_work += done[i];
      alike_seconds += seconds;
    }
    if (all_seconds > 0) out.of_others = alike_seconds > 0 ? alike_seconds / alike_work : all_seconds / all_work;
    return out;
  }

  // Of all that the pipeline will carry.
  demand_by_nodes demand_of(const plan::pipeline& p, const metrics::pipeline_work& work) const {
    const plan::node& head = head_of(p);
    const double given =
        expected_of(work, counters_[static_cast<size_t>(p.head)].bytes_out, rows_of_head(p), work.total);
    demand_by_nodes out;
    const bool strings = !head.outputs.empty() && head.outputs[0].type.has_strings();
    const plan::output_port* const sorted =
        head.role() == plan::operator_role::breaker ? &graph_.input_of(head, 0) : nullptr;
    const double row_bytes = sorted != nullptr ? row_bytes_of(p.head, *sorted) : 1;
    out.shares.push_back({p.head, given * work_per_byte(head, plan::node_part::work, strings, row_bytes)});
    if (head.role() == plan::operator_role::breaker) add_merge(p.head, given, out.all);
    for (const int index : p.nodes) {
      const plan::node& n = graph_.nodes[static_cast<size_t>(index)];
      if (n.inputs.empty()) continue;
      const plan::output_port& in = graph_.input_of(n, n.flowing_input());
      const double first_guess =
          rows_of_head(p) > 0 && in.estimate.known ? static_cast<double>(in.estimate.num_bytes) : given;
      const double taken = expected_of(work, counters_[static_cast<size_t>(index)].bytes_in, first_guess, given);
      out.shares.push_back(
          {index, taken * work_per_byte(n, plan::node_part::intake, in.type.has_strings(), row_bytes_of(index, in))});
      if (n.role() == plan::operator_role::breaker) add_runs(index, taken, out.all);
    }
    return out;
  }

  // Of what comes in, as it was counted, or else as it was planned.
  double row_bytes_of(int node, const plan::output_port& in) const {
    const node_counters& c = counters_[static_cast<size_t>(node)];
    if (c.rows_in > 0 && c.bytes_in > 0) return static_cast<double>(c.bytes_in) / static_cast<double>(c.rows_in);
    if (in.estimate.known && in.estimate.rows > 0 && in.estimate.num_bytes > 0)
      return static_cast<double>(in.estimate.num_bytes) / static_cast<double>(in.estimate.rows);
    return static_cast<double>(std::max<size_t>(in.type.row_bytes(), 1));
  }

  double rows_of_head(const plan::pipeline& p) const {
    const plan::node& head = head_of(p);
    return !head.outputs.empty() && head.outputs[0].estimate.known
               ? static_cast<double>(head.outputs[0].estimate.num_bytes)
               : 0;
  }

  // What a counter of the pipeline will come to: as fast as its head once that is under way, before that the estimate
  // of the plan, or else what its head will give.
  static double expected_of(const metrics::pipeline_work& work, uint64_t counted, double planned, double otherwise) {
    const auto so_far = static_cast<double>(counted);
    if (work.total > 0 && work.done >= least_share * work.total && counted > 0)
      return so_far * std::max(work.total / work.done, 1.0);
    return planned > 0 ? planned : otherwise;
  }

  // What runs become smaller by on their way to the disks.
  static double stored_share(const node_counters& c) {
    return c.run_bytes > 0 ? static_cast<double>(c.stored_run_bytes) / static_cast<double>(c.run_bytes) : 1;
  }

  void add_runs(int sort, double taken, metrics::demand& out) const {
    const plan::sort_prediction* const s = plan_.sort_of(sort);
    const node_counters& c = counters_[static_cast<size_t>(sort)];
    if (s == nullptr || (s->runs == 0 && c.runs == 0)) return;
    out.scratch_written += std::max(taken - static_cast<double>(s->kept_bytes), 0.0) * stored_share(c);
  }

  void add_merge(int sort, double given, metrics::demand& out) const {
    const plan::sort_prediction* const s = plan_.sort_of(sort);
    const node_counters& c = counters_[static_cast<size_t>(sort)];
    if (s == nullptr || (s->runs == 0 && c.runs == 0)) return;
    metrics::demand runs;
    add_runs(sort, std::max(given, static_cast<double>(c.bytes_in)), runs);
    // All passes but the last one write what they read.
    const double first = static_cast<double>(s->num_bytes) -
                         std::min(static_cast<double>(s->kept_bytes), static_cast<double>(s->num_bytes));
    const double again = s->known && s->merge_passes > 1 && first > 0
                             ? std::max(static_cast<double>(s->written_bytes) / first - 1, 0.0)
                             : 0;
    out.scratch_read += runs.scratch_written * (1 + again);
    out.scratch_written += runs.scratch_written * again;
  }

  void measure_source(const plan::pipeline& p, const node_counters& c, metrics::pipeline_work& out) const {
    out.total = static_cast<double>(c.file_total_bytes);
    out.done = static_cast<double>(c.file_read_bytes);
    if (out.total > 0) return;
    const plan::node& head = head_of(p);
    out.done = static_cast<double>(c.bytes_out);
    if (head.outputs.empty()) return;
    const plan::row_estimate& expected = head.outputs[0].estimate;
    out.total = static_cast<double>(expected.num_bytes);
    out.open = !expected.known;
  }

  // The source half of a sort gives on what its sink half has taken, or will have.
  void measure_merge(const plan::pipeline& p, const node_counters& c, metrics::pipeline_work& out) const {
    out.done = static_cast<double>(c.bytes_out);
    const auto taken = static_cast<double>(c.bytes_in);
    const plan::pipeline* feeding = feeding_pipeline(p.head);
    if (p.phase <= now_ || feeding == nullptr || feeding->phase < now_) {
      out.total = taken;
      return;
    }
    const plan::row_estimate& expected = graph_.input_of(head_of(p), 0).estimate;
    out.total = static_cast<double>(expected.num_bytes);
    out.open = !expected.known;
    if (feeding->phase > now_ || (expected.known && expected.exact)) return;
    if (head_of(*feeding).role() == plan::operator_role::meeting || feeding->control) return;
    const metrics::pipeline_work before = work_of(*feeding);
    if (before.open || before.done < least_share * before.total || before.total == 0) return;
    out.total = taken * std::max(before.total / before.done, 1.0);
    out.open = false;
    out.exact = false;
  }

  const plan::pipeline* feeding_pipeline(int node) const {
    for (const plan::pipeline& p : plan_.pipelines)
      if (std::find(p.nodes.begin(), p.nodes.end(), node) != p.nodes.end()) return &p;
    return nullptr;
  }

  const plan::graph& graph_;
  const plan::physical_plan& plan_;
  const std::deque<node_counters>& counters_;
  const int now_;
};

}  // namespace

std::vector<metrics::pipeline_work> work_of(const plan::graph& g, const plan::physical_plan& plan,
                                            const std::deque<node_counters>& counters, size_t phase_now) {
  return measuring(g, plan, counters, phase_now).measure();
}

}  // namespace flowrun::exec
