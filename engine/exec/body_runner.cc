#include "engine/exec/body_runner.h"

#include <algorithm>
#include <bit>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/body_ports.h"
#include "engine/plan/estimates.h"
#include "engine/plan/physical_plan.h"

namespace flowrun::exec {

namespace {

constexpr size_t most_instances = 16;
// Beyond the budget, for the least with which a body can work: far less than what a job may take beyond its budget.
constexpr uint64_t most_overdraft = 16 * MiB;
constexpr unsigned small_bits = 16;

unsigned class_of(uint64_t num_bytes) { return static_cast<unsigned>(std::bit_width(num_bytes >> small_bits)); }

// An upper bound for all streams of the class.
plan::row_estimate estimate_of(const container::external_vector& rows) {
  plan::row_estimate out;
  out.known = true;
  out.num_bytes = uint64_t{1} << (small_bits + class_of(rows.num_bytes()));
  // Rows without strings have one length; with strings, none is shorter than its fixed part.
  out.rows = out.num_bytes / std::max<uint64_t>(rows.type().row_bytes(), 1);
  out.most_rows = out.rows;
  out.most_bytes = out.num_bytes;
  return out;
}

}  // namespace

struct body_runner::instance {
  instance(const plan::graph& checked, size_classes c) : classes(std::move(c)), graph(checked) {}
  const size_classes classes;
  plan::graph graph;
  plan::physical_plan plan;
  std::unique_ptr<graph_runner> runner;
};

body_runner::body_runner(std::shared_ptr<const plan::graph> checked, const plan::machine& resources,
                         const vector_memory& result, graph_host& host)
    : checked_(std::move(checked)),
      resources_(resources),
      result_memory_(result),
      host_(host),
      job_(host.job(), checked_->path) {}

body_runner::~body_runner() = default;

body_runner::size_classes body_runner::classes_of(const stream_table& streams) const {
  size_classes out;
  for (const plan::node& n : checked_->nodes)
    if (plan::is_body_stream(n)) out.push_back(class_of(streams.in.at(n.id)->num_bytes()));
  return out;
}

std::unique_ptr<body_runner::instance> body_runner::make_instance(const stream_table& streams, size_classes classes) {
  auto out = std::make_unique<instance>(*checked_, std::move(classes));
  std::map<std::string, plan::row_estimate> sizes;
  for (const plan::node& n : checked_->nodes)
    if (plan::is_body_stream(n)) sizes.emplace(n.id, estimate_of(*streams.in.at(n.id)));
  plan::update_estimates(out->graph, sizes);
  plan::plan_result planned = plan::make_plan(out->graph, resources_);
  // Deep in a recursion little is left of the budget. How deep it goes can't be known before the run, so it may have
  // the least that it needs: only the top frame works, and what the others hold is written out.
  const uint64_t least = planned.faults.empty() ? 0 : plan::least_memory(out->graph, resources_);
  if (!planned.faults.empty() && least <= resources_.memory_bytes + most_overdraft) {
    plan::machine enough = resources_;
    enough.memory_bytes = least;
    planned = plan::make_plan(out->graph, enough);
  }
  if (!planned.faults.empty())
    throw error(error_kind::resources,
                fmt::format("{} of the memory are left for the nodes inside of '{}', which want {} or more",
                            format_bytes(resources_.memory_bytes), checked_->path, format_bytes(least)),
                "raise the memory budget (-m): what is around them, and each level of a recursion, has its part of it");
  out->plan = std::move(planned.plan);
  out->runner =
      std::make_unique<graph_runner>(out->graph, out->plan, host_.record_of(*checked_), host_, job_, result_memory_);
  return out;
}

body_runner::instance& body_runner::instance_for(const stream_table& streams) {
  size_classes wanted = classes_of(streams);
  const auto found = std::find_if(instances_.begin(), instances_.end(),
                                  [&](const std::unique_ptr<instance>& i) { return i->classes == wanted; });
  if (found == instances_.end()) {
    instances_.push_front(make_instance(streams, std::move(wanted)));
    if (instances_.size() > most_instances) instances_.pop_back();
  } else if (found != instances_.begin()) {
    std::rotate(instances_.begin(), found, found + 1);
  }
  return *instances_.front();
}

void body_runner::run(stream_table& streams, const std::vector<uint64_t>& scalars) {
  instance& now = instance_for(streams);
  FLOWRUN_CHECK(scalars.size() == now.graph.scalars.size());
  for (size_t i = 0; i < scalars.size(); ++i) now.graph.scalars[i].bits = scalars[i];
  now.runner->run(&streams);
}

}  // namespace flowrun::exec
