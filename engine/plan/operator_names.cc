#include "engine/plan/operator_names.h"

#include <fmt/format.h>

#include "engine/plan/known_elsewhere.h"
#include "specs/value.h"

namespace flowrun::plan {

namespace {

void look_at(const google::protobuf::RepeatedPtrField<specs::Node>& nodes, const std::string& file,
             const vocabulary& catalog, std::vector<fault>& faults) {
  for (const specs::Node& node : nodes) {
    const bool of_plugin = node.op().find('.') != std::string::npos && !node.op().starts_with("file.");
    if (!of_plugin)
      if (std::optional<fault> found = unknown_operator(node, file, catalog)) faults.push_back(*std::move(found));
    for (const specs::Body& body : node.bodies()) look_at(body.nodes(), file, catalog, faults);
  }
}

}  // namespace

std::optional<fault> unknown_operator(const specs::Node& node, const std::string& file, const vocabulary& catalog) {
  const std::string& name = node.op();
  if (name.empty() || catalog.find(name) != nullptr) return std::nullopt;
  const std::vector<std::string> names = catalog.names();
  std::string hint = known_elsewhere(name);
  if (hint.empty()) hint = did_you_mean(name, names);
  const size_t point = name.find('.');
  if (hint.empty() && point != std::string::npos && !name.starts_with("file."))
    hint = fmt::format("a job names the plugins that it needs: plugins: [{}]", name.substr(0, point));
  return fault{specs::where(file, node.op_position()), fmt::format("unknown operator '{}'", name), one_of(names),
               std::move(hint)};
}

std::vector<fault> unknown_operators(const specs::JobSpec& job, const vocabulary& catalog) {
  std::vector<fault> out;
  look_at(job.nodes(), job.file(), catalog, out);
  for (const specs::Graph& graph : job.graphs()) look_at(graph.nodes(), job.file(), catalog, out);
  return out;
}

}  // namespace flowrun::plan
