#include "runner/home_paths.h"

#include <cstdlib>

#include "engine/base/error.h"
#include "runner/words.h"
#include "specs/value.h"

namespace flowrun::runner {

namespace {

using nodes = google::protobuf::RepeatedPtrField<specs::Node>;

void expand_text(specs::Value& v) {
  if (!is_scalar(v)) return;
  specs::Scalar& scalar = *v.mutable_scalar();
  const std::string expanded = expanded_home(scalar.text());
  // What ${…} brought in moves with the text; where it brought the ~, the home directory belongs to it.
  const auto more = uint64_t{expanded.size()} - scalar.text().size();
  for (specs::Span& span : *scalar.mutable_inserted()) {
    if (span.begin() > 0) span.set_begin(span.begin() + more);
    span.set_end(span.end() + more);
  }
  scalar.set_text(expanded);
}

void expand_value(specs::Value& v) {
  expand_text(v);
  if (is_list(v))
    for (specs::Value& item : *v.mutable_list()->mutable_items()) expand_text(item);
}

bool is_path(const plan::operator_declaration& d, const std::string& name) {
  for (const plan::parameter_declaration& p : d.parameters)
    if (p.name == name) return p.kind == plan::parameter_kind::path || p.kind == plan::parameter_kind::paths;
  return false;
}

void expand_nodes(nodes& all, const plan::vocabulary& catalog) {
  for (specs::Node& node : all) {
    const plan::operator_declaration* d = catalog.find(node.op());
    if (d != nullptr && is_map(node.with()))
      for (specs::Entry& entry : *node.mutable_with()->mutable_map()->mutable_entries())
        if (is_path(*d, entry.key())) expand_value(*entry.mutable_value());
    for (specs::Body& body : *node.mutable_bodies()) expand_nodes(*body.mutable_nodes(), catalog);
  }
}

}  // namespace

std::string expanded_home(const std::string& path) {
  if (!path.starts_with("~/")) return path;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    throw error(error_kind::bad_spec, "there is no home directory for the path " + path + ": HOME is not set",
                "set HOME, or write the whole path; ./" + path + " is a directory that is called ~");
  return home + path.substr(1);
}

void expand_home(specs::Resources& resources) {
  for (specs::ScratchDir& dir : *resources.mutable_scratch()) dir.set_path(expanded_home(dir.path()));
}

void expand_home(specs::JobSpec& job) {
  const plan::vocabulary catalog = known_vocabulary();
  expand_home(*job.mutable_resources());
  expand_nodes(*job.mutable_nodes(), catalog);
  for (specs::Graph& graph : *job.mutable_graphs()) expand_nodes(*graph.mutable_nodes(), catalog);
}

}  // namespace flowrun::runner
