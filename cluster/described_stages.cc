#include "cluster/described_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cluster/expected_task.h"
#include "engine/base/counted.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/plan_message.h"
#include "operators/parts/order/row_limit.h"

namespace flowrun::cluster {

namespace {

// What tasks do of a node in front of the exchange.
struct step_words {
  const char* does;
  const char* gives;
  const char* which;  // between these and the node's name
};
step_words first_step(const plan::graph& g, int node) {
  const plan::node& n = g.nodes[static_cast<size_t>(node)];
  if (n.declaration->division == plan::operator_division::sorting) return {"sorts   runs of", "runs", "of"};
  if (operators::rows_that_matter(n)) return {"takes   the first rows for", "first rows", "for"};
  return {"reduces rows for", "partial results", "of"};
}

std::string described_input(const plan::graph& g, const stage_input& in, size_t kept_together) {
  const std::string& id = g.nodes[static_cast<size_t>(in.node)].id;
  switch (in.how) {
    case reading::piece: return fmt::format("a piece of '{}'", id);
    case reading::merged:
      return fmt::format("a range of {} of '{}'", plan::to_string(range_of(g, in, kept_together)), id);
    case reading::all: break;
  }
  if (!in.runs) return fmt::format("all of '{}'", id);
  const step_words step = first_step(g, in.node);
  return fmt::format("{} {} '{}'", step.gives, step.which, id);
}

std::string text_of(const task_count& count) {
  const std::string text = count.num_tasks == 1 ? "one task" : counted(count.num_tasks, "task");
  return (count.at_most && count.num_tasks > 1 ? "up to " : "") + text;
}

plan::PlanStageInput input_message(const plan::graph& g, const stage_input& in, size_t kept_together) {
  plan::PlanStageInput out;
  out.set_node(static_cast<uint32_t>(in.node));
  out.set_port(static_cast<uint32_t>(in.port));
  if (in.runs) out.set_rows(first_step(g, in.node).gives);
  out.set_part(in.how == reading::all ? "all" : in.how == reading::piece ? "piece" : "range");
  if (in.how != reading::merged) return out;
  *out.mutable_range_of() = plan::to_proto(range_of(g, in, kept_together));
  return out;
}

class describer {
 public:
  std::string text;

  void add(const divided_job& job, const std::string& indent, described_stages::messages& to) {
    seen_.insert(job.graph.get());
    const std::vector<task_count> counts = task_counts(job);
    for (size_t s = 0; s < job.cut.all.size(); ++s) {
      const stage& st = job.cut.all[s];
      plan::PlanStage& message = *to.Add();
      message.set_tasks(static_cast<uint32_t>(counts[s].num_tasks));
      message.set_at_most(counts[s].at_most);
      const auto id = [&](int n) { return job.graph->nodes[static_cast<size_t>(n)].id; };
      std::string tasks = text_of(counts[s]);
      if (st.source >= 0) {
        tasks += fmt::format(", pieces of '{}'", id(st.source));
        message.set_source(static_cast<uint32_t>(st.source));
      }
      if (st.control >= 0) {
        message.set_least_divided_bytes(usual_least_divided_bytes);
        tasks = fmt::format("stages of its own; one task, if it reads less than {}",
                            format_bytes(usual_least_divided_bytes));
      }
      text += fmt::format("{}stage {}: {}\n", indent, s + 1, tasks);
      for (const stage_input& in : st.inputs) {
        const size_t kept_together = st.divided ? st.kept_together : 0;
        text += fmt::format("{}  reads   {}\n", indent, described_input(*job.graph, in, kept_together));
        *message.add_reads() = input_message(*job.graph, in, kept_together);
      }
      for (const int n : st.nodes) message.add_nodes(static_cast<uint32_t>(n));
      for (const int n : st.runs) message.add_first_steps(static_cast<uint32_t>(n));
      *message.mutable_whole_because() = {st.reasons.begin(), st.reasons.end()};
      std::vector<std::string> names;
      for (const int n : st.nodes) names.push_back(id(n));
      if (!names.empty()) text += fmt::format("{}  runs    {}\n", indent, fmt::join(names, ", "));
      for (const int n : st.runs) text += fmt::format("{}  {} '{}'\n", indent, first_step(*job.graph, n).does, id(n));
      if (!st.reasons.empty()) text += fmt::format("{}  whole, because of {}\n", indent, fmt::join(st.reasons, ", "));
      if (st.control >= 0) add_bodies(job, job.graph->nodes[static_cast<size_t>(st.control)], indent + "    ", message);
    }
  }

 private:
  void add_bodies(const divided_job& job, const plan::node& n, const std::string& indent, plan::PlanStage& to) {
    for (size_t i = 0; i == 0 || i < n.bodies.size(); ++i) {
      const std::shared_ptr<const plan::graph> body = plan::body_of(n, i);
      if (body == nullptr) continue;
      plan::PlanStageBody& message = *to.add_bodies();
      message.set_path(body->path);
      if (seen_.contains(body.get())) {
        text += fmt::format("{}the stages of {} again\n", indent, body->path);
        continue;
      }
      const divided_job inside = divide(body, job.most_tasks, job.file_bytes);
      text += fmt::format("{}{}: {} each time\n", indent, body->path, counted(inside.cut.all.size(), "stage"));
      add(inside, indent + "  ", *message.mutable_stages());
    }
  }

  std::set<const plan::graph*> seen_;
};

}  // namespace

described_stages describe(const divided_job& job) {
  described_stages out;
  describer describing;
  describing.add(job, "  ", out.stages);
  out.text = fmt::format("on a cluster: {}\n", counted(job.cut.all.size(), "stage")) + describing.text;
  return out;
}

}  // namespace flowrun::cluster
