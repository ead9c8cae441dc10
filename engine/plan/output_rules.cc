#include "engine/plan/output_rules.h"

#include <fmt/format.h>

#include <filesystem>

#include "engine/plan/parameter_shape.h"
#include "specs/value.h"

namespace flowrun::plan {

void check_outputs_used(const graph& g, const std::vector<bool>& good, const connector& connections,
                        std::vector<fault>& faults) {
  auto fail = [&](const specs::Position& where, std::string message, std::string hint) {
    faults.push_back({specs::where(g.job->file(), where), std::move(message), {}, std::move(hint)});
  };
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const node& n = g.nodes[i];
    if (!n.declaration || n.declaration->role == operator_role::sink || n.declaration->output_optional) continue;
    const int index = static_cast<int>(i);
    if (!connections.read_at_all(index)) {
      fail(n.spec->position(), fmt::format("the rows of '{}' are never used", n.id),
           fmt::format("remove '{}', or read it with a file.write_… node", n.id));
      continue;
    }
    if (!good[i] || n.declaration->role == operator_role::control) continue;
    for (size_t port = 0; port < n.outputs.size(); ++port) {
      if (connections.used(index, static_cast<int>(port))) continue;
      const std::string& name = n.outputs[port].name;
      const specs::OnError& e = n.spec->on_error();
      if (n.spec->has_on_error() && e.action() == specs::OnError::PORT && e.port() == name)
        fail(e.to_position(), fmt::format("nobody reads the rejected rows of '{0}' (port '{0}.{1}')", n.id, name),
             fmt::format("read {}.{} with a file.write_lines node, or write on_error: {{to: skip}}", n.id, name));
      else
        fail(n.spec->position(), fmt::format("the output '{}' of '{}' is never used", name, n.id),
             fmt::format("read {}.{} with a file.write_… node, or remove it", n.id, name));
    }
  }
}

std::vector<file_use> files_of(const node& n) {
  std::vector<file_use> out;
  const operator_role role = n.declaration->role;
  if (role != operator_role::source && role != operator_role::sink) return out;
  for (const parameter_declaration& p : n.declaration->parameters) {
    if (p.kind != parameter_kind::path && p.kind != parameter_kind::paths) continue;
    const specs::Value* given = specs::find(n.spec->with(), p.name);
    if (!given && p.default_text.empty()) continue;
    const specs::Value value = given ? *given : default_value(p);
    auto add = [&](const specs::Value& item) {
      out.push_back({std::filesystem::path(specs::text(item)).lexically_normal().string(), n.id,
                     role == operator_role::sink, given ? item.position() : n.spec->op_position()});
    };
    if (specs::is_scalar(value)) add(value);
    for (const specs::Value& item : value.list().items()) add(item);
  }
  return out;
}

std::vector<file_use> indexes_of(const node& n) {
  if (!n.facts.contains("has_index")) return {};
  std::vector<file_use> out = files_of(n);
  for (file_use& use : out) use.path += ".index";
  return out;
}

void check_files(const std::string& job_file, const std::vector<file_use>& files, std::vector<fault>& faults) {
  auto fail = [&](const file_use& use, std::string message, std::string expected, std::string hint = {}) {
    faults.push_back({specs::where(job_file, use.where), std::move(message), std::move(expected), std::move(hint)});
  };
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const file_use &a = files[j], &b = files[i];
      if (a.path != b.path) continue;
      const bool standard = a.path == "-";
      if (a.writes && b.writes) {
        fail(b,
             fmt::format("'{}' and '{}' both write {}", a.node, b.node,
                         standard ? "standard output" : "'" + a.path + "'"),
             "a file of its own for each", "put both streams into one with concat");
        break;
      }
      if (a.writes != b.writes && !standard) {
        const file_use &writer = a.writes ? a : b, &reader = a.writes ? b : a;
        fail(writer, fmt::format("'{}' writes '{}', which '{}' reads", writer.node, a.path, reader.node),
             "another file");
      }
      if (!a.writes && !b.writes && standard &&
          (a.node != b.node || a.where.line() != b.where.line() || a.where.column() != b.where.column())) {
        fail(b, fmt::format("'{}' and '{}' both read standard input", a.node, b.node), "one reader",
             "several nodes may read from one file node");
        break;
      }
    }
  }
}

}  // namespace flowrun::plan
