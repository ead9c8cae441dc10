// What an operator's check sees of one node: parameters, input types, and where to put faults. The check makes a struct
// of settings from it, which is all that the operator's build gets.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/expr/aggregate.h"
#include "engine/expr/expression.h"
#include "engine/expr/scalars.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

class sub_graphs;

// A sort key, resolved: a column (or slice of a bytes column), or any other expression.
struct sort_key {
  expr::expression value;
  bool descending = false;
  std::optional<order_term> term;  // set when the key is a column or a slice of one
  std::string name;                // that it was given; may be empty
  specs::Position position;
  void bind(const expr::scalar_values& values) { expr::bind(value, values); }
};

// Scopes that operators hand over need not name the graph's scalars and functions: they are added to each.
class node_checker {
 public:
  // `owner` is the graph that holds `n`. Faults go to `faults`. `files` outlives the checker.
  // `graphs`: for control nodes, in check() only.
  node_checker(graph& owner, plan::node& n, const known_files& files, std::vector<fault>& faults,
               sub_graphs* graphs = nullptr);

  const plan::node& node() const { return node_; }
  plan::node& node() { return node_; }
  size_t num_inputs() const { return node_.inputs.size(); }
  const record::row_type& input_type(size_t i = 0) const;
  const order& input_order(size_t i = 0) const;
  const row_estimate& input_estimate(size_t i = 0) const;
  std::string input_name(size_t i) const { return graph_.input_name(node_, i); }

  // --- parameters (values have the declared shape; a fault was already reported otherwise and check() is not called)
  // ---
  bool has(const std::string& name) const;
  const specs::Value* value(const std::string& name) const;       // null when absent and without default
  std::string text(const std::string& name) const;                // also path, choice; the default when absent
  std::vector<std::string> texts(const std::string& name) const;  // one or a list, as they are
  std::vector<std::string> paths(const std::string& name) const { return texts(name); }
  uint64_t integer(const std::string& name) const;
  uint64_t bytes(const std::string& name) const;
  bool boolean(const std::string& name) const;
  std::optional<record::row_type> row_type(const std::string& name);
  std::vector<std::string> columns(const std::string& name, size_t input = 0);  // known columns only; faults for others
  // (column of input 0, column of input 1): parameter_kind::column_pairs. Known columns only; faults for others.
  std::vector<std::pair<std::string, std::string>> column_pairs(const std::string& name);
  // {name: columns of input 0}, in order: parameter_kind::named_columns. Known columns only; faults for others.
  std::vector<std::pair<std::string, std::vector<std::string>>> named_columns(const std::string& name);
  // {name: text}, in order: parameter_kind::column_texts. Known columns of `type` only; faults for
  // others.
  std::vector<std::pair<std::string, std::string>> column_texts(const std::string& name, const record::row_type& type);
  std::vector<sort_key> sort_keys(const std::string& name, const expr::scope& scope);
  std::optional<expr::expression> expression(const std::string& name, const expr::scope& scope);
  std::optional<expr::expression> condition(const std::string& name, const expr::scope& scope);
  // {name: expression} in order. `name` empty: the free columns of a map. Column names are checked (distinct,
  // well-formed).
  std::vector<std::pair<std::string, expr::expression>> named_expressions(const std::string& name,
                                                                          const expr::scope& scope);
  // parameter_kind::expression_rows: one entry per map of the list, each as named_expressions.
  std::vector<std::vector<std::pair<std::string, expr::expression>>> expression_rows(const std::string& name,
                                                                                     const expr::scope& scope);
  std::vector<std::pair<std::string, expr::expression>> named_conditions(const std::string& name,
                                                                         const expr::scope& scope);
  // parameter_kind::rules: one entry per rule of the list.
  struct rule {
    std::optional<std::string> from, to;
    std::optional<expr::expression> when;
    std::vector<std::pair<std::string, expr::expression>> set, push, emit;
    void bind(const expr::scalar_values& values) { expr::bind_all(values, when, set, push, emit); }
  };
  std::vector<rule> rules(const std::string& name, const expr::scope& scope);
  std::vector<std::pair<std::string, expr::aggregate>> aggregates(const std::string& name, const expr::scope& scope);
  // Where rejected rows go: nullopt = stop at the first (fail); "" = skip; otherwise the port's name. And the largest
  // share.
  struct error_policy {
    enum class action { fail, skip, to_port } what = action::fail;
    std::string port;
    double max_ratio = 1.0;
  };
  error_policy on_error() const;
  int64_t file_bytes(const std::string& path) const { return files_.num_bytes(path); }
  std::string file_beginning(const std::string& path, size_t most_bytes) const {
    return files_.beginning(path, most_bytes);
  }

  // --- for control nodes: parameters with a shape of their own, and graphs inside ---
  const graph& owner() const { return graph_; }
  // Whether expressions may name values of the one row of `name`: scalars: name.
  bool has_scalars_of(const std::string& name) const;
  sub_graphs& graphs() const { return *graphs_; }
  std::vector<fault>& faults() { return faults_; }  // for what is checked inside; count_faults() afterwards
  void count_faults(size_t num_before) { num_faults_ += faults_.size() - num_before; }
  const specs::Body* body(const std::string& name) const;  // null: none
  std::optional<expr::expression> compiled(const specs::Value& value, const expr::scope& scope, bool condition = false);
  std::optional<record::row_type> row_type_of(const specs::Value& value);
  void fault_at(const specs::Position& where, std::string message, std::string expected = {}, std::string hint = {}) {
    add(where, std::move(message), std::move(expected), std::move(hint));
  }

  // --- faults ---
  // `name` may be a path into a parameter: "let.deg", "on.2.push". Where the parameter is absent, the fault points to
  // the operator.
  void fault_at_parameter(const std::string& name, std::string message, std::string expected = {},
                          std::string hint = {});
  // At a character of a parameter that is a text.
  void fault_in_parameter(const std::string& name, size_t offset, std::string message, std::string expected = {},
                          std::string hint = {});
  void fault_at_input(size_t i, std::string message, std::string expected = {}, std::string hint = {});
  void fault_at_node(std::string message, std::string expected = {}, std::string hint = {});
  // Faults unless input i is sorted by `need`; the message names the missing sort: "add  {op: sort, in: X, with: {by:
  // [..]}}".
  bool require_order(size_t i, const order& need);
  // The same for equal values next to each other; `other_way`: what helps, too. `stable`: the order of the input within
  // them matters, so the sort that is missing keeps it.
  bool require_adjacent(size_t i, const std::vector<std::string>& columns, std::string_view other_way = {},
                        bool stable = false);
  bool ok() const { return num_faults_ == 0; }
  // Whether the check was given an expression that may name scalars: then the settings need a bind().
  bool gave_expressions() const { return gave_expressions_; }
  // Faults for streams under `scalars:` of which no expression has named a value. After check().
  void check_scalars_named();

  // --- results ---
  node_facts& facts() { return node_.facts; }
  // One call per output port.
  void set_output(size_t port, record::row_type type, order sorted_by = {}, row_estimate estimate = {});
  // The same for output 0, which gives on the rows of input 0, or some of them, in their order: that is so whatever is
  // wrong with the node's parameters, and the nodes behind it are checked although it is faulty.
  void pass_rows_on(row_estimate estimate);
  bool passes_rows_on() const { return passes_rows_on_; }
  // Adds an output port (split, error ports) and returns its index.
  size_t add_output(const std::string& name);
  // Whether an input is stored where that depends on parameters (a join that skips). In check() only.
  void store_input(size_t i, bool as_vector);

 private:
  using expression_columns = std::vector<std::pair<std::string, expr::expression>>;
  void add(const specs::Position& where, std::string message, std::string expected, std::string hint);
  std::string sorted_name(size_t i, const order& need) const;
  void add_problems(const specs::Value& value, const std::vector<expr::problem>& problems);
  std::optional<sort_key> compiled_key(const specs::Value& value, const expr::scope& scope);
  expr::scope with_names(const expr::scope& scope) const;
  bool is_other_node(const std::string& name) const;
  // Which values of `scalars:` the text names. Adds to what compiling it has found.
  void note_scalars(const specs::Value& text, const expr::scope& scope, std::vector<expr::problem>& problems);
  void add_unknown_column(const specs::Position& where, const std::string& column, size_t input);
  const parameter_declaration* declared(const std::string& name) const;
  bool known_column(const specs::Value& value, size_t input);
  std::vector<std::string> columns_in(const specs::Value* list, size_t input);
  graph& graph_;
  plan::node& node_;
  const known_files& files_;
  std::vector<fault>& faults_;
  sub_graphs* graphs_;
  size_t num_faults_ = 0;
  bool passes_rows_on_ = false;
  bool gave_expressions_ = false;
  std::map<std::string, specs::Value> defaults_;  // of the declaration, as values
  expr::scalar_values own_scalars_;               // that `scalars:` gives names to
  std::set<std::string> named_rows_;              // of them, by the part of the name before the point
};

}  // namespace flowrun::plan
