// Which node reads which output: `in:` of each node against the outputs that exist and the inputs that its operator
// declares. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/plan/graph.h"

namespace flowrun::plan {

// Indices of nodes with every node behind those it reads rows or scalars of; nodes that are ready at the same time keep
// the order of the text. Nodes on a circle are left out.
std::vector<int> topological_order(const std::vector<const specs::Node*>& nodes);

class connector {
 public:
  // `good[i]` says that node i of `g` was checked and its outputs are known. Both are filled while nodes get connected.
  connector(graph& g, const std::vector<bool>& good, std::vector<fault>& faults)
      : graph_(g), good_(good), faults_(faults) {}

  // Connects node i, all of whose producers came before it. True when its inputs are as declared and all producers are
  // good.
  bool connect(int i);
  // Some node reads the port (also a faulty one).
  bool used(int node, int port) const { return used_.contains({node, port}); }
  bool read_at_all(int node) const { return read_.contains(node); }

 private:
  struct endpoint {
    const specs::Input* spec = nullptr;
    int node = -1;
    int port = 0;
    bool good = false;
  };
  endpoint resolve(const specs::Input& input);
  void match_list(node& n, std::vector<endpoint>& ends);
  void match_names(node& n, std::vector<endpoint>& ends);
  void take_names(node& n, std::vector<endpoint>& ends);
  void fail(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {});

  graph& graph_;
  const std::vector<bool>& good_;
  std::vector<fault>& faults_;
  std::set<std::pair<int, int>> used_;
  std::set<int> read_;
};

}  // namespace flowrun::plan
