// union_find: edges into connected components, with the labels of all nodes in memory (semi-external: nodes fit, edges
// needn't). It is one scan of the edges without a sort. STXXL, section 10 calls for it as the base case of connected
// components and of Kruskal's minimum spanning tree. There the edges come by weight, and the edges that join two
// components are the tree.
//
// The tour is a circular list of the nodes of each tree. An edge that joins two trees swaps the successors of its ends,
// which makes one circle of two. So the circle goes round the tree as an Euler tour does, and the nodes in every piece
// of it are near each other in the graph. These pieces are the clusters of Mehlhorn and Meyer, "External-memory
// breadth-first search with sublinear I/O" (their deterministic variant), made without a list ranking.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/record/key.h"
#include "operators/parts/algorithms/disjoint_sets.h"
#include "operators/parts/rules/column_copy.h"
#include "operators/parts/rules/estimates.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

constexpr unsigned accepted_port = 0, labels_port = 1, tour_port = 2;
constexpr uint64_t most_small_nodes = uint64_t{1} << 32;  // ids fit 4 bytes

struct settings {
  std::vector<std::string> ends;  // two columns
  std::optional<expr::expression> nodes;
  record::value_type id;
  void bind(const expr::scalar_values& values) { expr::bind(nodes, values); }
};

// nullopt: scalars decide, which have no values yet.
std::optional<uint64_t> num_nodes_of(const settings& s) { return s.nodes ? s.nodes->constant_bits() : std::nullopt; }

// What is wrong with a number of nodes, and what would be right.
struct misfit {
  std::string message, expected;
};
std::optional<misfit> misfit_of(const settings& s) {
  const std::string right = "a constant whole number, 0 or more";
  const std::optional<uint64_t> number = num_nodes_of(s);
  const bool negative = number && s.nodes->type().is_signed() && static_cast<int64_t>(*number) < 0;
  if (!s.nodes->type().is_integer() || negative)
    return misfit{fmt::format("'{}' is no number of nodes", s.nodes->text()), right};
  if (!number) return std::nullopt;
  const unsigned width = 8 * s.id.num_bytes;
  if (width < 64 && *number > uint64_t{1} << width)
    return misfit{fmt::format("{} has no numbers for {} nodes", to_string(s.id), format_count(*number)),
                  fmt::format("at most {}", uint64_t{1} << width)};
  if (*number > uint64_t{1} << 48)
    return misfit{fmt::format("labels of {} nodes fit no memory", format_count(*number)), {}};
  return std::nullopt;
}

uint64_t id_bytes(uint64_t num_nodes) { return num_nodes <= most_small_nodes ? 4 : 8; }

bool wants_tour(const plan::node& n) { return !n.outputs[tour_port].consumers.empty(); }

uint64_t memory_for(const plan::node& n, uint64_t num_nodes) {
  return (wants_tour(n) ? 2 : 1) * num_nodes * id_bytes(num_nodes) + 512 * KiB;
}

settings check(plan::node_checker& node) {
  settings s{node.columns("ends"), node.expression("nodes", expr::scope{}), {}};
  if (!node.ok()) return s;
  const record::row_type& input = node.input_type();
  if (s.ends.size() != 2) {
    node.fault_at_parameter("ends", fmt::format("an edge has two ends, these are {} columns", s.ends.size()),
                            "ends: [src, dst]");
    return s;
  }
  const record::value_type first = input[*input.index_of(s.ends[0])].type;
  const record::value_type second = input[*input.index_of(s.ends[1])].type;
  if (!first.is_unsigned() || first != second) {
    node.fault_at_parameter(
        "ends", fmt::format("'{}' is {}, '{}' is {}", s.ends[0], to_string(first), s.ends[1], to_string(second)),
        "two columns of one unsigned type",
        "cast them with a map in front, or number the nodes first (sort, scan with dense_rank)");
    return s;
  }
  s.id = first;
  if (const auto wrong = misfit_of(s)) {
    node.fault_at_parameter("nodes", wrong->message, wrong->expected);
    return s;
  }
  const std::optional<uint64_t> num_nodes = num_nodes_of(s);
  plan::row_estimate accepted = at_most(node.input_estimate());
  if (accepted.known && num_nodes && *num_nodes > 0 && accepted.rows > *num_nodes - 1) {
    accepted.num_bytes = (accepted.num_bytes / std::max<uint64_t>(accepted.rows, 1)) * (*num_nodes - 1);
    accepted.rows = *num_nodes - 1;
  }
  node.set_output(accepted_port, input, node.input_order(), accepted);
  record::row_type labels({{"node", first}, {"value", first}});
  const plan::row_estimate estimate = num_nodes ? exactly(*num_nodes, labels) : plan::row_estimate{};
  node.set_output(labels_port, std::move(labels), {{"node", false}}, estimate);
  record::row_type places({{"node", first}, {"place", first}});
  node.set_output(tour_port, std::move(places), {{"node", false}}, estimate);
  return s;
}

template <class Id>
class union_stage final : public exec::ordered_stage {
 public:
  union_stage(exec::build_context& c, const settings& s, uint64_t num_nodes)
      : node_(c.node.id),
        input_name_(c.input_name(0)),
        ends_{end(c.input_type(), s.ends[0]), end(c.input_type(), s.ends[1])},
        wants_accepted_(!c.node.outputs[accepted_port].consumers.empty()),
        wants_labels_(!c.node.outputs[labels_port].consumers.empty()),
        sets_(num_nodes),
        pool_(c.job.pool()),
        labels_(c.output_type(labels_port), c.job.pool(), c.batches),
        tour_(c.output_type(tour_port), c.job.pool(), c.batches) {
    if (!wants_tour(c.node)) return;
    next_.resize(num_nodes);
    for (uint64_t i = 0; i < num_nodes; ++i) next_[i] = static_cast<Id>(i);
  }

  outcome push(record::batch& in, exec::output& out, waker&) override {
    load(in);
    kept_.clear();
    for (size_t i = 0; i < in.num_rows; ++i) {
      if (i + far < in.num_rows) {
        sets_.prefetch(ids_[2 * (i + far)]);
        sets_.prefetch(ids_[2 * (i + far) + 1]);
      }
      if (i + near < in.num_rows) {
        sets_.prefetch_parent(ids_[2 * (i + near)]);
        sets_.prefetch_parent(ids_[2 * (i + near) + 1]);
      }
      if (!sets_.unite(static_cast<Id>(ids_[2 * i]), static_cast<Id>(ids_[2 * i + 1]))) continue;
      kept_.push_back(static_cast<uint32_t>(i));
      if (!next_.empty()) std::swap(next_[ids_[2 * i]], next_[ids_[2 * i + 1]]);  // two cycles become one
    }
    next_row_ += in.num_rows;
    if (wants_accepted_) emit_kept(in, out);
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker&) override {
    while (wants_labels_ && next_label_ < sets_.num_members()) {
      put_labels(std::min<uint64_t>(labels_.room(), sets_.num_members() - next_label_));
      if (!labels_.full() && next_label_ < sets_.num_members()) continue;
      out.emit(labels_.take(), labels_port);
      return outcome::ready();
    }
    if (first_stop_ < next_.size()) {
      put_in_places();
      return outcome::ready();
    }
    while (next_place_ < next_.size()) {
      if (tour_.full()) {
        out.emit(tour_.take(), tour_port);
        return outcome::ready();
      }
      put_places(std::min<uint64_t>(tour_.room(), next_.size() - next_place_));
    }
    if (!next_.empty()) out.emit(tour_.take(), tour_port);
    return outcome::done();
  }

 private:
  // How many rows ahead a node's parent, and then the parent's parent, are fetched.
  static constexpr size_t far = 32, near = 16;

  struct id_column {
    uint32_t offset, num_bytes;
  };
  static id_column end(const record::row_type& type, const std::string& name) {
    const record::column& c = type[*type.index_of(name)];
    return {c.offset, c.type.num_bytes};
  }

  // The ends of all edges, checked: everything behind may use them as places.
  void load(const record::batch& in) {
    ids_.resize(2 * in.num_rows);
    uint64_t largest = 0;
    for (size_t k = 0; k < 2; ++k)
      for (size_t i = 0; i < in.num_rows; ++i) {
        const uint64_t id = record::load_unsigned(in.row(i) + ends_[k].offset, ends_[k].num_bytes);
        ids_[2 * i + k] = id;
        largest = std::max(largest, id);
      }
    if (in.num_rows > 0 && largest >= sets_.num_members()) fail();
  }

  void put_labels(uint64_t count) {
    const uint32_t num_bytes = ends_[0].num_bytes;
    std::byte* to = labels_.append(count);
    for (const uint64_t end = next_label_ + count; next_label_ < end; ++next_label_, to += 2 * num_bytes) {
      if (next_label_ + far < sets_.num_members()) sets_.prefetch_parent(next_label_ + far);
      const uint64_t label = sets_.settle(next_label_);
      if (num_bytes == 4) {
        std::memcpy(to, &next_label_, 4);
        std::memcpy(to + 4, &label, 4);
      } else {
        std::memcpy(to, &next_label_, num_bytes);
        std::memcpy(to + num_bytes, &label, num_bytes);
      }
    }
  }

  // Goes round some cycles, each from its smallest node on. When a node has been passed, its place in the tour is
  // stored where its successor was.
  void put_in_places() {
    constexpr uint64_t enough = 1 << 20;
    for (const uint64_t end = num_placed_ + enough; first_stop_ < next_.size() && num_placed_ < end; ++first_stop_) {
      if (sets_.find(static_cast<Id>(first_stop_)) != first_stop_) continue;
      uint64_t stop = first_stop_;
      do stop = std::exchange(next_[stop], static_cast<Id>(num_placed_++));
      while (stop != first_stop_);
    }
  }

  void put_places(uint64_t count) {
    std::byte* to = tour_.append(count);
    for (const uint64_t end = next_place_ + count; next_place_ < end; ++next_place_) {
      for (const uint64_t value : {next_place_, uint64_t{next_[next_place_]}}) {
        std::memcpy(to, &value, ends_[0].num_bytes);
        to += ends_[0].num_bytes;
      }
    }
  }

  void emit_kept(const record::batch& in, exec::output& out) const {
    if (kept_.empty()) return;
    if (kept_.size() == in.num_rows) return out.emit(in, accepted_port);
    std::shared_ptr<std::byte[]> rows = pool_.take(kept_.size() * in.row_bytes);
    std::byte* to = rows.get();
    for (uint32_t i : kept_) {
      copy_bytes(to, in.row(i), in.row_bytes);
      to += in.row_bytes;
    }
    out.emit(sharing_heap(in, std::move(rows), kept_.size(), in.row_bytes), accepted_port);
  }

  [[noreturn]] void fail() const {
    const auto bad = std::find_if(ids_.begin(), ids_.end(), [&](uint64_t id) { return id >= sets_.num_members(); });
    const auto i = static_cast<uint64_t>(bad - ids_.begin());
    throw error(error_kind::bad_data,
                fmt::format("node '{}': row {} of '{}' (counted from 0) has the node {}, and `nodes` is {}", node_,
                            next_row_ + i / 2, input_name_, ids_[i], sets_.num_members()),
                "ids go from 0 to nodes - 1: raise `nodes`, or drop such edges with a filter");
  }

  std::string node_, input_name_;
  id_column ends_[2];
  bool wants_accepted_, wants_labels_;
  disjoint_sets<Id> sets_;
  record::batch_pool& pool_;
  record::batch_builder labels_;
  std::vector<uint64_t> ids_;  // of the batch: both ends of each row
  std::vector<uint32_t> kept_;
  uint64_t next_row_ = 0, next_label_ = 0;

  // The trees that the accepted edges make so far, each as a cycle through its nodes. Empty: no tour is wanted.
  std::vector<Id> next_;
  record::batch_builder tour_;
  uint64_t first_stop_ = 0;  // of the cycle that is gone round next
  uint64_t num_placed_ = 0, next_place_ = 0;
};

exec::assembly build(exec::build_context& c, const settings& s) {
  // Where scalars decide, it is known only now.
  if (const auto wrong = misfit_of(s))
    throw error(error_kind::bad_data, fmt::format("node '{}': {}", c.node.id, wrong->message), wrong->expected);
  const uint64_t num_nodes = num_nodes_of(s).value();
  const bool late = !num_nodes_of(c.node.settings.as<settings>());
  if (const uint64_t wanted = memory_for(c.node, num_nodes); late && c.memory_bytes < wanted)
    throw error(error_kind::resources,
                fmt::format("node '{}': {} nodes need {} of memory, and the node has {}", c.node.id,
                            format_count(num_nodes), format_bytes(wanted), format_bytes(c.memory_bytes)),
                "raise the memory budget (-m)");
  exec::assembly out;
  if (id_bytes(num_nodes) == 4)
    out.stages.emplace_back(std::make_unique<union_stage<uint32_t>>(c, s, num_nodes));
  else
    out.stages.emplace_back(std::make_unique<union_stage<uint64_t>>(c, s, num_nodes));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"union_find">() {
  plan::operator_declaration d;
  d.name = "union_find";
  d.summary = "Finds connected components: which nodes hang together by edges.";
  d.details =
      "Edges are taken one after another, in either direction. An edge between two components joins them and leaves "
      "through `accepted`, as it is; one within a component is dropped. So `accepted` is a spanning forest, and behind "
      "a sort by weight the minimum spanning forest. `labels` gives each of the nodes 0 … nodes - 1 with its "
      "component, named by the smallest node in it, once all edges were seen.\n\n"
      "`tour` gives each node its place on a tour along the spanning trees, one component after another. Nodes of "
      "neighbouring places are near each other in the graph, and so are those of every piece of the tour: clusters, "
      "however the nodes are numbered. How near they are depends on the order of the edges, which decides the trees. A "
      "random order is good; sorted edges may make long, thin trees, so put a `shuffle` in front of those.\n\n"
      "It takes 4 bytes of memory per node (8 from 2^32 nodes on), and as much again for `tour`, however many edges "
      "there are. Read any of the ports.";
  d.order = "accepted keeps: the input's order; labels and tour give: node";
  d.example =
      "components: {op: union_find, in: edges, with: {ends: [src, dst], nodes: 1000000}}\n"
      "forest:     {op: file.write_rows, in: components.accepted, with: {path: forest.bin}}\n"
      "labels:     {op: file.write_rows, in: components.labels, with: {path: labels.bin}}\n";
  d.role = plan::operator_role::ordered;
  d.inputs = {{"in", "edges; self-loops and repeated edges do nothing"}};
  d.outputs = {{"accepted", "the edges that joined two components"},
               {"labels", "{node, value}: each node and the smallest node of its component, by node"},
               {"tour", "{node, place}: each node and its place on the tour, 0 … nodes - 1, by node"}};
  d.output_optional = true;
  d.parameters = {{.name = "ends",
                   .kind = plan::parameter_kind::columns,
                   .default_text = "[src, dst]",
                   .help = "The two columns that hold an edge's nodes, of one unsigned type; the other ports "
                           "have it too."},
                  {.name = "nodes",
                   .kind = plan::parameter_kind::expression,
                   .required = true,
                   .help = "How many nodes there are, a constant or a scalar; their ids are smaller."}};
  d.memory = [](const plan::node& n, plan::node_part) {
    const std::optional<uint64_t> num_nodes = num_nodes_of(n.settings.as<settings>());
    if (!num_nodes) return plan::memory_wish{.minimum = 512 * KiB, .maximum = uint64_t{1} << 40, .weight = 1};
    const uint64_t num_bytes = memory_for(n, *num_nodes);
    return plan::memory_wish{.minimum = num_bytes, .maximum = num_bytes, .weight = 0};
  };
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
