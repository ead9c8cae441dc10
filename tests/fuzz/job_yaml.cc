// A job from its text to its plan, as flowrun check goes: what is wrong is a fault with a place, and never an error.
//
// What holds of every text: faults have messages and places that are in it; a tree of YAML is written so that it reads
// as the same tree; the job's message survives being sent; a plan keeps to its memory, and what explains it is whole.
// Files that a job names have sizes that come from their names; none is opened.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/plan/explain.h"
#include "engine/plan/file_rules.h"
#include "engine/plan/physical_plan.h"
#include "engine/plan/plan_message.h"
#include "operators/registry.h"
#include "specs/yaml_reader.h"
#include "specs/yaml_tree.h"
#include "specs/yaml_writer.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

using specs::Value;

void look_at_faults(const specs::read_result& read, const std::vector<fault>& faults) {
  const auto num_lines = static_cast<int>(std::count(read.text.begin(), read.text.end(), '\n')) + 1;
  for (const fault& f : faults) {
    must_hold(!f.message.empty(), "a fault says nothing, at {}:{}", f.where.line, f.where.column);
    if (f.where.file != "job.yaml") continue;  // an option of the command line
    if (f.message.starts_with("more faults follow") || f.message.starts_with("the file is larger")) continue;
    must_hold(f.where.line >= 1 && f.where.line <= num_lines + 1 && f.where.column >= 1, "'{}' is at {}:{} of {} lines",
              f.message, f.where.line, f.where.column, num_lines);
  }
  must_hold(render(faults, read.text).empty() == faults.empty(), "{} faults render as nothing", faults.size());
}

// Keys, kinds and texts.
bool same_tree(const Value& a, const Value& b) {
  if (a.kind_case() != b.kind_case()) return false;
  if (is_scalar(a)) return a.scalar().text() == b.scalar().text();
  if (is_list(a)) {
    const auto& one = a.list().items();
    const auto& other = b.list().items();
    return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_tree);
  }
  const auto same_entry = [](const specs::Entry& x, const specs::Entry& y) {
    return x.key() == y.key() && same_tree(x.value(), y.value());
  };
  const auto& one = a.map().entries();
  const auto& other = b.map().entries();
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), same_entry);
}

// A small tree, written and read.
void look_at_tree(const specs::read_result& read) {
  specs::fault_sink faults("job.yaml");
  if (!specs::check_text(read.text, faults)) return;
  const auto tree = specs::read_yaml(specs::source_text(read.text), faults);
  if (!tree || !faults.take().empty() || !is_map(*tree) || specs::count_values(*tree) > 2000) return;
  std::string text;
  try {
    text = specs::write_yaml(*tree, specs::dollars::kept);
  } catch (const error& refused) {
    must_hold(refused.kind() == error_kind::bad_spec, "a tree can't be written: {}", refused.what());
    return;
  }
  specs::fault_sink again("written.yaml");
  const bool readable = specs::check_text(text, again);
  const auto copy = readable ? specs::read_yaml(specs::source_text(text), again) : std::nullopt;
  const std::vector<fault> found = again.take();
  must_hold(copy && found.empty(), "what is written can't be read: {}\n{}", found.empty() ? "" : found[0].message,
            text);
  must_hold(same_tree(*tree, *copy), "what is written reads as another tree:\n{}", text);
}

// Something for each parameter that must be given.
std::map<std::string, std::string> parameters_for(const specs::JobSpec& job) {
  std::map<std::string, std::string> out;
  for (const specs::Param& p : job.params()) {
    if (!p.required()) continue;
    std::string value = "x";
    if (p.type() == specs::PARAM_INT || p.type() == specs::PARAM_FLOAT) value = "3";
    if (p.type() == specs::PARAM_BYTES) value = "1MiB";
    if (p.type() == specs::PARAM_BOOL) value = "true";
    if (p.type() == specs::PARAM_ENUM && !p.values().empty()) value = p.values(0);
    out[p.name()] = value;
  }
  return out;
}

// By the name alone: unknown, or up to 15 GiB.
int64_t size_of_file(const std::string& path) {
  uint64_t sum = 0;
  for (const char c : path) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum % 4 == 0 ? -1 : static_cast<int64_t>((sum / 4 % 16) * GiB);
}

void look_at_plan(const plan::graph& graph, const plan::physical_plan& made, const plan::machine& machine) {
  for (const plan::phase& p : made.phases)
    must_hold(p.memory_bytes + p.batches_bytes + p.held_bytes <= machine.memory_bytes, "a phase takes {} of {} bytes",
              p.memory_bytes + p.batches_bytes + p.held_bytes, machine.memory_bytes);
  must_hold(made.predicted_peak_memory <= machine.memory_bytes, "the plan's peak is {} of {} bytes",
            made.predicted_peak_memory, machine.memory_bytes);
  must_hold(!plan::explain_text(graph, made).empty() && !plan::explain_dot(graph, made).empty(), "no explanation");
  const plan::PhysicalPlan message = plan::to_proto(graph, made);
  plan::PhysicalPlan copy;
  must_hold(copy.ParseFromString(message.SerializeAsString()), "the plan's message can't be read");
  const std::string json = plan::explain_json(copy);
  must_hold(json == plan::explain_json(message), "the plan's message is another one when it has been read");
  must_hold(nlohmann::json::accept(json), "the plan's JSON is none:\n{}", json);
}

void look_at_job(const specs::read_result& read) {
  static const plan::vocabulary words = operators::built_in_vocabulary();
  const plan::known_files files(size_of_file, [](const std::string&, size_t) { return std::string("a,b\n1,22\n"); });
  plan::check_result checked =
      plan::check(std::make_shared<specs::JobSpec>(read.job), words, files, plan::outer_files{});
  look_at_faults(read, checked.faults);
  if (!checked.faults.empty()) return;
  plan::machine machine;
  machine.memory_bytes = 256 * MiB;
  machine.threads = 2;
  const plan::plan_result planned = plan::make_plan(checked.checked, machine);
  for (const fault& f : planned.faults) must_hold(!f.message.empty(), "a fault of the plan says nothing");  // no place
  if (planned.faults.empty()) look_at_plan(checked.checked, planned.plan, machine);
}

}  // namespace

void try_input(std::string_view bytes) {
  specs::read_result read = specs::read_job(std::string(bytes), "job.yaml");
  look_at_tree(read);
  if (const auto parameters = parameters_for(read.job); !parameters.empty())
    read = specs::read_job(std::string(bytes), "job.yaml", parameters);
  look_at_faults(read, read.faults);
  const std::string sent = read.job.SerializeAsString();
  specs::JobSpec copy;
  must_hold(copy.ParseFromString(sent) && copy.SerializeAsString() == sent, "the job's message has changed");
  if (read.faults.empty()) look_at_job(read);
}

}  // namespace flowrun::fuzz
