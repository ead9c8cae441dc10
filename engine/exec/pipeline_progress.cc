#include "engine/exec/pipeline_progress.h"

#include <algorithm>

namespace flowrun::exec {

namespace {

// Below this share of a pipeline's work, a guess at the rest would jump about.
constexpr double least_share = 0.02;

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
    if (p.phase >= now_) return out;
    out.total = out.done;
    out.open = false;
    out.exact = true;
    return out;
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
