#include "specs/references.h"

#include <unordered_map>

namespace flowrun::specs {

namespace {

// One node that a node reads from.
struct reading {
  int from;
  const Input* input;
};

// "a → b → c → a", in the direction of the rows. `path` runs from reader to read; long circles are cut in the middle.
std::string describe(const JobSpec& job, const std::vector<int>& path, size_t begin) {
  constexpr size_t most = 12;
  std::string out = quotable(job.nodes(path[begin]).id());
  const size_t length = path.size() - begin;
  for (size_t i = 0; i < length; ++i) {
    if (length > most && i == most / 2) out += " → …";
    if (length <= most || i < most / 2 || i + most / 2 >= length)
      out += " → " + quotable(job.nodes(path[path.size() - 1 - i]).id());
  }
  return out;
}

class circle_search {
 public:
  circle_search(const JobSpec& job, const std::vector<std::vector<reading>>& readings, fault_sink& faults)
      : job_(job),
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
        faults_.add(edge.input->position(), "the nodes run in a circle: " + describe(job_, path, index_[from]),
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

  const JobSpec& job_;
  const std::vector<std::vector<reading>>& readings_;
  fault_sink& faults_;
  std::vector<state> state_;
  std::vector<size_t> index_;  // place on the path
};

}  // namespace

void check_references(const JobSpec& job, fault_sink& faults) {
  std::unordered_map<std::string_view, int> number;
  std::vector<std::string> ids;
  for (const Node& node : job.nodes()) {
    number.emplace(node.id(), static_cast<int>(ids.size()));
    ids.push_back(node.id());
  }
  std::vector<std::vector<reading>> readings(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const Node& node = job.nodes(static_cast<int>(i));
    for (const Input& input : node.inputs()) {
      const auto found = number.find(input.from_node());
      if (found == number.end())
        faults.add_unknown(input.position(), "there is no node '" + quotable(input.from_node()) + "'",
                           input.from_node(), ids);
      else if (found->second == static_cast<int>(i))
        faults.add(input.position(), "the node '" + quotable(node.id()) + "' reads its own output", "another node");
      else
        readings[i].push_back({found->second, &input});
    }
  }
  circle_search(job, readings, faults).run();
}

}  // namespace flowrun::specs
