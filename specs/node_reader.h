// Maps of nodes: the nodes: section, those of a graph and the bodies inside nodes. One node at a time: op, in, with,
// on_error, doc.
//
//   in: a            in: a.port            in: {left: a, right: b.port}            in: [a, b, c]
//   on_error: skip   on_error: {to: PORT | skip | fail, max_ratio: 0.01}
//
// What op, the ports and the keys of with mean is not checked here but in plan/, against the operators' declarations.
// The exceptions are the words of control (control_words.h): their bodies are maps of nodes again. How deep they nest
// is bounded by the depth of the tree (yaml_tree.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

// The keys of a node.
const std::vector<std::string>& node_keys();

using node_list = google::protobuf::RepeatedPtrField<Node>;

// Appends every node that has a name, also one with faults, so that references to it are not faults too. `of` names
// what has no nodes if there are none: "the job".
void read_nodes(const Entry& section, const std::string& of, node_list& nodes, fault_sink& faults);

// "id" or "id.port". False when it is neither, which is reported unless the text is unresolved; `what` for that: "an
// input".
struct endpoint {
  std::string node;
  std::string port;  // empty: the first output
};
bool read_endpoint(const Value& value, std::string_view what, endpoint& end, fault_sink& faults);

}  // namespace flowrun::specs
