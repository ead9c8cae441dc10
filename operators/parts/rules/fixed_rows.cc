#include "operators/parts/rules/fixed_rows.h"

#include <algorithm>
#include <set>

namespace flowrun::operators {

namespace {

// `been`: the nodes that were looked at, since many ways may lead to one.
bool comes_from_files(const plan::graph& g, const plan::input_port& in, std::set<int>& been) {
  if (in.from_node < 0) return true;
  if (!been.insert(in.from_node).second) return false;
  const plan::node& from = g.nodes[static_cast<size_t>(in.from_node)];
  if (from.declaration->name == "reduce") return false;  // one row, whatever comes
  if (from.declaration->name.starts_with("file.")) return true;
  return std::any_of(from.inputs.begin(), from.inputs.end(),
                     [&](const plan::input_port& next) { return comes_from_files(g, next, been); });
}

}  // namespace

std::optional<uint64_t> fixed_rows(const plan::node_checker& node, size_t input) {
  const plan::row_estimate& estimate = node.input_estimate(input);
  // A body may be there for other numbers than those that come to it, and never run.
  if (!node.owner().path.empty()) return std::nullopt;
  std::set<int> been;
  if (!estimate.known || !estimate.exact || comes_from_files(node.owner(), node.node().inputs[input], been))
    return std::nullopt;
  return estimate.rows < plan::row_estimate::most_expected ? estimate.rows : estimate.most_rows;
}

}  // namespace flowrun::operators
