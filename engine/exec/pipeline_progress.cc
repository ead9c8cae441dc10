#include "engine/exec/pipeline_progress.h"

#include <algorithm>

namespace flowrun::exec {

namespace {

// Below this share of a pipeline's work, a guess at the rest would jump about.
constexpr double least_share = 0.02;

// How long a byte keeps a thread busy (operator_declaration::work_per_byte), beside one that a sort of rows without
// strings makes runs of. Measured as the processor time of the phases of sorts of 100 MB that spill, on one thread;
// only the proportions matter, and these roughly: a phase that runs is measured by itself.
double work_per_byte(const plan::node& n, plan::node_part part, bool strings) {
  if (n.declaration->work_per_byte > 0) return n.declaration->work_per_byte;
  switch (n.role()) {
    case plan::operator_role::source: return 0.1;
    case plan::operator_role::sink: return 0.2;
    case plan::operator_role::breaker:
      return part == plan::node_part::intake ? (strings ? 2 : 1) : (strings ? 1.4 : 1.2);
    default: return 0.5;
  }
}

class measuring {
 public:
  measuring(const plan::graph& g, const plan::physical_plan& plan, const std::deque<node_counters>& counters,
            size_t phase_now)
      : graph_(g), plan_(plan), counters_(counters), now_(static_cast<int>(phase_now)) {}

  std::vector<metrics::pipeline_work> measure() const {
    std::vector<metrics::pipeline_work> out;
    for (const plan::pipeline& p : plan_.pipelines)
      if (head_of(p).role() != plan::operator_role::meeting)  // which moves with what feeds it
        out.push_back(work_of(p));
    return out;
  }

 private:
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
    if (!out.open) out.all = demand_of(p, out);
    return out;
  }

  // Of all that the pipeline will carry.
  metrics::demand demand_of(const plan::pipeline& p, const metrics::pipeline_work& work) const {
    const plan::node& head = head_of(p);
    const double given =
        expected_of(work, counters_[static_cast<size_t>(p.head)].bytes_out, rows_of_head(p), work.total);
    metrics::demand out;
    const bool strings = !head.outputs.empty() && head.outputs[0].type.has_strings();
    out.processor = given * work_per_byte(head, plan::node_part::work, strings);
    if (head.role() == plan::operator_role::breaker) add_merge(p.head, given, out);
    for (const int index : p.nodes) {
      const plan::node& n = graph_.nodes[static_cast<size_t>(index)];
      if (n.inputs.empty()) continue;
      const plan::output_port& in = graph_.input_of(n, n.flowing_input());
      const double first_guess =
          rows_of_head(p) > 0 && in.estimate.known ? static_cast<double>(in.estimate.num_bytes) : given;
      const double taken = expected_of(work, counters_[static_cast<size_t>(index)].bytes_in, first_guess, given);
      out.processor += taken * work_per_byte(n, plan::node_part::intake, in.type.has_strings());
      if (n.role() == plan::operator_role::breaker) add_runs(index, taken, out);
    }
    return out;
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
