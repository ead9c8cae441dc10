// What loop, if and call have in common: scalars, rows that stand in the spec, what expressions may say about a body.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/exec/control_context.h"
#include "engine/expr/expression.h"
#include "engine/plan/node_checker.h"
#include "engine/plan/sub_graphs.h"

namespace flowrun::operators {

// The value of a checked expression over nothing but named values.
uint64_t value_of(const expr::expression& checked, const expr::scalar_values& values);
bool holds(const expr::expression& condition, const expr::scalar_values& values);

// An expression as a scalar of the type that it gives; a fault where it can't be one.
std::optional<expr::expression> check_scalar(plan::node_checker& node, const specs::Value& text,
                                             const std::vector<expr::constant>& names);

// `names`, and those constants of `more` whose names are not among them.
std::vector<expr::constant> with_outer(std::vector<expr::constant> names, const std::vector<expr::constant>& more);
std::vector<uint64_t> values_of(const std::vector<expr::constant>& scalars);

// The rows of `rows: [{column: value}, …]`: a value for each column of the type.
struct given_rows {
  record::row_type type;
  std::vector<std::vector<expr::expression>> rows;
};
// Where `type` has no columns, the first row decides what they are. The result has no columns after a fault.
given_rows check_rows(plan::node_checker& node, const specs::Value& rows, record::row_type type);
// Those rows, sorted by all columns.
record::batch load_rows(const std::vector<std::vector<expr::expression>>& rows, const record::row_type& type,
                        const expr::scalar_values& values, record::batch_pool& pool);
plan::order by_all_columns(const record::row_type& type);

// What expressions mention of nodes: rows(NODE), and NODE.column of a node that gives one row. Adds the counts and
// results that a body has to have for them.
class mentioned_nodes {
 public:
  // `streams`: names that come from outside.
  mentioned_nodes() = default;
  explicit mentioned_nodes(std::vector<std::string> streams) : streams_(std::move(streams)) {}
  // `body`: null where there is none, and only streams can be meant.
  void scan(const specs::Value& text, const specs::Body* body, std::vector<plan::body_output>& outputs);
  // names() gives the names with their types once the body is checked, and values() gives them with their values when
  // the body has run. `port_of` finds a stream by its name, or a result by its id.
  using port_finder = std::function<const plan::output_port&(const std::string& name, bool is_stream)>;
  std::vector<expr::constant> names(plan::node_checker& node, const port_finder& port_of);
  std::vector<expr::constant> values(exec::control_context& context, const exec::body_streams& streams) const;

 private:
  struct count {
    std::string name;  // "rows(new)"
    std::string id;    // of the count, or of the stream
    bool of_stream = false;
  };
  struct field {
    std::string name;  // "total.n"
    std::string id;    // of the result, or of the stream
    bool of_stream = false;
    std::string column;
    specs::Position position;
    record::value_type type;
    uint32_t offset = 0;
    record::value_type column_type;
  };
  std::vector<std::string> streams_;
  std::vector<count> counts_;
  std::vector<field> fields_;
};

// What an expression over scalars and the inputs of a control node may name: rows(INPUT), INPUT.column, and `memory`,
// the bytes that the nodes inside of it have together.
class input_values {
 public:
  input_values() = default;  // nothing
  // With a fault for what isn't there.
  input_values(plan::node_checker& node, const specs::Value& text);
  const std::vector<expr::constant>& names() const { return names_; }  // for check()
  // With those of the scalars around the node.
  std::vector<expr::constant> values(exec::control_context& context, const exec::body_streams& streams) const;

 private:
  mentioned_nodes mentioned_;
  std::vector<expr::constant> names_;
};

// A condition over them.
struct input_condition {
  input_values mentioned;
  std::optional<expr::expression> condition;
  bool holds(exec::control_context& context, const exec::body_streams& streams) const;
};
input_condition check_condition_on_inputs(plan::node_checker& node, const specs::Value& text);

// How many calls of the same graph are around the nodes of one: a scalar that all of its expressions may name.
constexpr const char* call_depth_name = "call_depth";
// Whether some expression of the graph may name it.
bool may_name_call_depth(const specs::Graph& graph);

// None, finished.
exec::rows_handle empty_rows(exec::control_context& context, const record::row_type& type,
                             const plan::order& sorted_by = {});

// The longest prefix of `order` by which rows sorted by `have` are sorted.
plan::order weakened(const plan::order& order, const plan::order& have);

}  // namespace flowrun::operators
