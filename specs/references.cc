#include "specs/references.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "specs/control_words.h"
#include "specs/node_reader.h"
#include "specs/value.h"

namespace flowrun::specs {

namespace {

// One node that a node reads from.
struct reading {
  int from;
  const Input* input;
};

// "a → b → c → a", in the direction of the rows. `path` runs from reader to read; long circles are cut in the middle.
std::string describe(const node_list& nodes, const std::vector<int>& path, size_t begin) {
  constexpr size_t most = 12;
  std::string out = quotable(nodes[path[begin]].id());
  const size_t length = path.size() - begin;
  for (size_t i = 0; i < length; ++i) {
    if (length > most && i == most / 2) out += " → …";
    if (length <= most || i < most / 2 || i + most / 2 >= length)
      out += " → " + quotable(nodes[path[path.size() - 1 - i]].id());
  }
  return out;
}

class circle_search {
 public:
  circle_search(const node_list& nodes, const std::vector<std::vector<reading>>& readings, fault_sink& faults)
      : nodes_(nodes),
        readings_(readings),
        faults_(faults),
        state_(readings.size(), state::unseen),
        index_(readings.size()) {}

  void run() {
    for (size_t i = 0; i < readings_.size() && !faults_.full(); ++i)
      if (state_[i] == state::unseen) walk(static_cast<int>(i));
  }

 private:
  enum class state : uint8_t { unseen, on_path, done };

  void walk(int start) {
    std::vector<int> path;
    std::vector<size_t> next;  // which reading of path[i] is looked at next
    enter(start, path, next);
    while (!path.empty() && !faults_.full()) {
      const int node = path.back();
      const auto& readings = readings_[static_cast<size_t>(node)];
      if (next.back() == readings.size()) {
        state_[static_cast<size_t>(node)] = state::done;
        path.pop_back();
        next.pop_back();
        continue;
      }
      const reading& edge = readings[next.back()++];
      const auto from = static_cast<size_t>(edge.from);
      if (state_[from] == state::unseen)
        enter(edge.from, path, next);
      else if (state_[from] == state::on_path)
        faults_.add(edge.input->position(), "the nodes run in a circle: " + describe(nodes_, path, index_[from]),
                    "nodes that only read from nodes before them",
                    "take one of these inputs from a node that is not behind it");
    }
  }

  void enter(int node, std::vector<int>& path, std::vector<size_t>& next) {
    state_[static_cast<size_t>(node)] = state::on_path;
    index_[static_cast<size_t>(node)] = path.size();
    path.push_back(node);
    next.push_back(0);
  }

  const node_list& nodes_;
  const std::vector<std::vector<reading>>& readings_;
  fault_sink& faults_;
  std::vector<state> state_;
  std::vector<size_t> index_;  // place on the path
};

// Nodes that see each other, and what they see besides.
struct scope {
  const node_list& nodes;
  std::string place;   // " under 'body' of 'levels'"; empty for the job's own nodes
  std::string holder;  // "'levels'", "the graph 'dc3'"
  const scope* outer = nullptr;
  std::unordered_map<std::string_view, int> ids = {};  // of the nodes, with their numbers
  std::unordered_set<std::string_view> brought = {};   // names that are streams inside without being nodes
  std::unordered_set<std::string_view> scalars = {};   // names that only expressions inside can use

  bool sees(const std::string& name) const { return ids.contains(name) || brought.contains(name); }
  // What can be read from.
  std::vector<std::string> visible() const {
    std::vector<std::string> names;
    for (const Node& node : nodes) names.push_back(node.id());
    std::vector<std::string> streams(brought.begin(), brought.end());
    std::sort(streams.begin(), streams.end());
    names.insert(names.end(), streams.begin(), streams.end());
    return names;
  }
};

class scope_check {
 public:
  explicit scope_check(fault_sink& faults) : faults_(faults) {}

  // `inside` knows what is brought in; its nodes are added here.
  void check(scope& inside) {
    for (int i = 0; i < inside.nodes.size(); ++i) {
      const Node& node = inside.nodes[i];
      inside.ids.emplace(node.id(), i);
      if (inside.brought.contains(node.id())) add_taken(node, inside);
    }
    std::vector<std::vector<reading>> readings(static_cast<size_t>(inside.nodes.size()));
    for (int i = 0; i < inside.nodes.size(); ++i) {
      const Node& node = inside.nodes[i];
      const auto read = [&](const Input& input) {
        const auto found = inside.ids.find(input.from_node());
        if (found == inside.ids.end())
          check_brought(inside, input.from_node(), input.from_port(), input.position());
        else if (found->second == i)
          faults_.add(input.position(), "the node '" + quotable(node.id()) + "' reads its own output", "another node");
        else
          readings[static_cast<size_t>(i)].push_back({found->second, &input});
      };
      for (const Input& input : node.inputs()) read(input);
      for (const Input& input : node.scalars()) read(input);
    }
    circle_search(inside.nodes, readings, faults_).run();
    for (const Node& node : inside.nodes)
      for (const Body& body : node.bodies()) check_body(node, body, inside);
  }

  void check_graph(const Graph& graph, const scope& job) {
    scope inside{graph.nodes(), fmt::format(" in the graph '{}'", quotable(graph.name())),
                 fmt::format("the graph '{}'", quotable(graph.name())), &job};
    for (const GraphPort& port : graph.inputs()) inside.brought.insert(port.name());
    for (const Param& scalar : graph.scalars()) inside.scalars.insert(scalar.name());
    check(inside);
    for (const GraphPort& port : graph.outputs())
      if (!inside.ids.contains(port.from_node()))
        check_brought(inside, port.from_node(), port.from_port(), port.from_position());
  }

 private:
  void check_body(const Node& node, const Body& body, const scope& outer) {
    scope inside{body.nodes(), fmt::format(" under '{}' of '{}'", body.name(), quotable(node.id())),
                 fmt::format("'{}'", quotable(node.id())), &outer};
    const bool named = node.input_form() == INPUT_NAMED;
    for (const Input& input : node.inputs()) {
      const std::string& name = named ? input.port() : input.from_node();
      if (!inside.brought.insert(name).second && !name.empty())
        faults_.add(input.position(), fmt::format("two inputs of {} are called '{}'", inside.holder, quotable(name)),
                    "in: {name: node, …}", "give them names");
    }
    const control_word* control = find_control_word(node.op());
    if (control && !control->carried.empty())
      if (const Value* carried = find(node.with(), control->carried))
        for (const Entry& entry : carried->map().entries()) {
          const bool taken = inside.brought.contains(entry.key());
          (find(entry.value(), "value") ? inside.scalars : inside.brought).insert(entry.key());
          if (taken)
            faults_.add(entry.key_position(),
                        fmt::format("'{}' is an input of {} already", quotable(entry.key()), inside.holder),
                        "another name");
        }
    for (const Node& inner : body.nodes())
      if (inside.scalars.contains(inner.id())) add_taken(inner, inside);
    check(inside);
  }

  void add_taken(const Node& node, const scope& inside) {
    faults_.add(node.position(), fmt::format("'{}' is brought in by {} already", quotable(node.id()), inside.holder),
                "another name");
  }

  // Checks a name that is no node of `inside`. An empty name was reported when it was read.
  void check_brought(const scope& inside, const std::string& name, const std::string& port, const Position& position) {
    if (name.empty()) return;
    if (inside.brought.contains(name)) {
      if (!port.empty())
        faults_.add(position,
                    fmt::format("'{}' is brought in by {}: one stream, without ports", quotable(name), inside.holder),
                    quotable(name), fmt::format("name the port where it comes from, under in: of {}", inside.holder));
      return;
    }
    const std::string message = fmt::format("there is no node '{}'{}", quotable(name), inside.place);
    if (faults_.full()) return faults_.add(position, message);
    for (const scope* around = &inside; around != nullptr; around = around->outer)
      if (around->scalars.contains(name))
        return faults_.add(
            position, message, one_of(inside.visible()),
            fmt::format("'{}' is a scalar of {}: expressions use it by its name", quotable(name), around->holder));
    for (const scope* around = inside.outer; around != nullptr; around = around->outer)
      if (around->sees(name))
        return faults_.add(position, message,
                           fmt::format("a node{}, or a name that {} brings in", inside.place, inside.holder),
                           fmt::format("nodes there can't see outside: add it under in: of {}", inside.holder));
    faults_.add_unknown(position, message, name, inside.visible());
  }

  fault_sink& faults_;
};

}  // namespace

void check_references(const JobSpec& job, fault_sink& faults) {
  scope_check checker(faults);
  scope nodes{job.nodes(), "", "the job"};
  checker.check(nodes);
  for (const Graph& graph : job.graphs()) checker.check_graph(graph, nodes);
}

}  // namespace flowrun::specs
