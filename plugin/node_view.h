// A node of a job as a plugin's check sees it: behind fr_node.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugin/operator_check.h"
#include "plugin/problem.h"

namespace flowrun::plugins {

// What it hands out lives as long as it does. What flowrun throws waits in `problem` until the plugin has returned.
class node_view {
 public:
  // `knows_decimals`: whether the plugin was built when there were any.
  node_view(plan::node_checker& node, fr_problem& problem, const std::string& who, plugin_settings& made,
            bool knows_decimals);
  // Refers to this object.
  fr_node table();

 private:
  // A row type in the types of the interface.
  struct shown_type {
    explicit shown_type(const record::row_type& from);
    record::row_type type;  // the names of the columns lie here
    std::vector<fr_column> columns;
    fr_row_type raw{};
  };
  template <class Result, class Call>
  static Result guarded(void* self, Result otherwise, Call call);

  void set_parameters(fr_node& to);
  void set_expressions(fr_node& to);
  void set_inputs(fr_node& to);
  void set_results(fr_node& to);

  uint64_t integer(const std::string& name);
  size_t columns(const std::string& name, size_t input, uint32_t* places, size_t most);
  size_t column_pairs(const std::string& name, uint32_t* places, size_t most);
  size_t paths(const std::string& name, fr_text* out, size_t most);
  const fr_row_type* row_type(const std::string& name);
  const fr_row_type* rows();
  const fr_row_type* input_type(size_t input);
  size_t input_order(size_t input, const fr_order_term** terms);

  // Where expressions come from: rows of the one stream.
  void begin_expressions();
  fr_column computed(const std::string& hidden, const std::string& shown, const expr::expression& value);
  // With a fault, where it is one that the plugin doesn't know.
  bool refuse_decimal(const std::string& parameter, const expr::expression& value);
  int expression(const std::string& name, fr_column* out);
  size_t expressions(const std::string& name, fr_column* out, size_t most);
  size_t sort_keys(const std::string& name, fr_order_term* out, size_t most);

  [[noreturn]] void refuse(const std::string& what) const;
  size_t known_input(size_t input) const;
  record::column column_of(const fr_column& c) const;
  bool has_good_names(const std::vector<fr_column>& columns, bool may_be_hidden);
  void set_output(uint32_t port, const std::vector<fr_column>& columns, plan::order sorted_by,
                  const fr_estimate* estimate);
  void set_sort(const fr_sort& given);

  plan::node_checker& node_;
  fr_problem& problem_;
  const std::string& who_;
  const bool knows_decimals_;
  plugin_settings& made_;
  const plan::parameter_declaration* declared(const std::string& name) const;

  std::deque<std::string> texts_;
  std::deque<shown_type> types_;
  std::vector<const fr_row_type*> inputs_;
  std::deque<std::vector<fr_order_term>> orders_;
  std::optional<uint32_t> error_port_;
  std::set<std::string> hidden_;  // names of columns that expressions compute
};

}  // namespace flowrun::plugins
