#include "tests/support/job_rig.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "operators/registry.h"

namespace flowrun::exec {

namespace {

std::string replace_all(std::string text, const std::string& word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
    text.replace(at, word.size(), by);
  return text;
}

plan::physical_plan plan_for(const plan::graph& g, const job_place& place) {
  plan::machine machine;
  machine.threads = place.threads;
  machine.num_disks = 2;
  machine.block_bytes = place.block_bytes;
  machine.batch_bytes = place.batch_bytes;
  machine.memory_bytes = place.memory_bytes > 0 ? place.memory_bytes : plan::least_memory(g, machine);
  plan::plan_result planned = plan::make_plan(g, machine);
  for (const fault& f : planned.faults) ADD_FAILURE() << fault_text(f);
  if (!planned.faults.empty()) throw error(error_kind::bad_spec, "the test's job has no plan");
  if (place.change_plan) place.change_plan(g, planned.plan);
  return std::move(planned.plan);
}

}  // namespace

job_rig::job_rig(const std::string& nodes, const job_place& place) {
  const std::string text = "flowrun: 1\nname: small\nnodes:\n" +
                           replace_all(replace_all(nodes, "@OUT", out_directory()), "@IN", directory_ / "in");
  job_settings settings;
  settings.graph = std::make_shared<plan::graph>(graph_of(text, place.more_operators));
  settings.plan = plan_for(*settings.graph, place);
  for (const operator_definition* d : operators::built_in_operators()) settings.operators[d->declaration.name] = d;
  for (const operator_definition* d : place.more_operators) settings.operators[d->declaration.name] = d;
  settings.scratch = {{directory_ / "scratch0", place.scratch_limit}, {directory_ / "scratch1", place.scratch_limit}};
  settings.backend = place.backend;
  settings.wrap_backend = place.wrap_backend;
  settings.plain_executor = place.plain;
  settings.make_executor = place.make_executor;
  settings.options.force_spill = place.force_spill;
  settings.options.direct = place.direct;
  settings.options.block_bytes = place.block_bytes;
  settings.options.batch_bytes = place.batch_bytes;
  settings.options.sync_outputs = false;
  job_ = std::make_unique<exec::job>(std::move(settings));
}

std::unique_ptr<error> job_rig::run(const std::function<void()>& tick) {
  try {
    run_or_throw(tick);
  } catch (const error& problem) {
    return std::make_unique<error>(problem);
  }
  return nullptr;
}

const RunReport::Node& job_rig::node(const RunReport& report, const std::string& id) const {
  for (const RunReport::Node& n : report.nodes())
    if (n.id() == id) return n;
  ADD_FAILURE() << "the report has no node " << id;
  return RunReport::Node::default_instance();
}

std::map<std::string, std::string> job_rig::outputs() const {
  std::map<std::string, std::string> out;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(out_directory(), none)) {
    std::ifstream file(entry.path(), std::ios::binary);
    out[entry.path().filename().string()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return out;
}

std::map<std::string, std::string> results_of(const RunReport& report) {
  std::map<std::string, std::string> out;
  for (const auto& r : report.results()) out[r.node() + "." + r.name()] = r.value();
  return out;
}

std::vector<job_place> different_places() {
  std::vector<job_place> out;
  for (const bool force_spill : {false, true})
    for (const unsigned threads : {1U, 4U}) {
      job_place place;
      place.plain = threads == 1;
      place.threads = threads;
      place.force_spill = force_spill;
      out.push_back(place);
    }
  out.push_back(out.back());
  out.back().block_bytes = 16 * KiB;
  out.back().batch_bytes = 1000;
  return out;
}

std::map<std::string, std::string> outputs_everywhere(const std::string& nodes) {
  std::map<std::string, std::string> first;
  for (const job_place& place : different_places()) {
    job_rig rig(nodes, place);
    const std::unique_ptr<error> problem = rig.run();
    if (problem != nullptr) {
      ADD_FAILURE() << problem->what();
      return {};
    }
    if (first.empty()) first = rig.outputs();
    EXPECT_TRUE(rig.outputs() == first) << "plain " << place.plain << ", spill " << place.force_spill;
  }
  return first;
}

job_place scratch_place(bool plain) {
  job_place place;
  place.plain = plain;
  place.threads = 3;
  place.force_spill = true;
  place.batch_bytes = 4 * KiB;
  return place;
}

}  // namespace flowrun::exec
