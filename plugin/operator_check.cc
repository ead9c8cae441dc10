#include "plugin/operator_check.h"

#include <fmt/format.h>

#include <deque>
#include <set>
#include <vector>

#include "engine/base/units.h"
#include "plugin/crash_line.h"
#include "plugin/problem.h"
#include "plugin/texts.h"
#include "specs/value.h"

namespace flowrun::plugins {

namespace {

using record::type_kind;
using record::value_type;

// Behind fr_node: what it hands out lives as long as it does. What flowrun throws waits until the plugin has returned.
class node_view {
 public:
  node_view(plan::node_checker& node, fr_problem& problem, const std::string& who)
      : node_(node), problem_(problem), who_(who) {
    if (node.num_inputs() > 0) {
      columns_ = columns_of(node.input_type());
      input_ = {columns_.data(), columns_.size(), node.input_type().row_bytes(), node.input_type().has_strings()};
      for (const plan::order_term& t : node.input_order())
        order_.push_back({as_text(t.column), t.descending, t.from, t.length, 0});
    }
  }

  fr_node table() {
    fr_node out{};
    out.size = sizeof out;
    out.self = this;
    out.has = [](void* self, fr_text name) {
      return guarded(self, 0, [&](node_view& v) { return v.node_.has(as_string(name)) ? 1 : 0; });
    };
    out.text = [](void* self, fr_text name) {
      return guarded(self, fr_text{0, ""},
                     [&](node_view& v) { return as_text(v.texts_.emplace_back(v.node_.text(as_string(name)))); });
    };
    out.integer = [](void* self, fr_text name) {
      return guarded(self, uint64_t{0}, [&](node_view& v) { return v.integer(as_string(name)); });
    };
    out.number = [](void* self, fr_text name) {
      return guarded(self, 0.0, [&](node_view& v) {
        const specs::Value* const value = v.node_.value(as_string(name));
        return value == nullptr ? 0.0 : specs::to_double(*value).value_or(0);
      });
    };
    out.columns = [](void* self, fr_text name, uint32_t* places, size_t most) {
      return guarded(self, size_t{0}, [&](node_view& v) { return v.columns(as_string(name), places, most); });
    };
    out.input_type = [](void* self) -> const fr_row_type* { return &static_cast<node_view*>(self)->input_; };
    out.input_order = [](void* self, const fr_order_term** terms) {
      *terms = static_cast<node_view*>(self)->order_.data();
      return static_cast<node_view*>(self)->order_.size();
    };
    out.input_estimate = [](void* self, fr_estimate* to) {
      guarded(self, 0, [&](node_view& v) {
        if (v.node_.num_inputs() == 0) v.refuse("it asks for an input, and has none");
        const plan::row_estimate& e = v.node_.input_estimate();
        *to = {e.rows, e.num_bytes, e.known, e.exact, e.most_rows, e.most_bytes};
        return 0;
      });
    };
    out.require_order = [](void* self, const fr_order_term* terms, size_t num_terms) {
      return guarded(self, 0, [&](node_view& v) {
        if (v.node_.num_inputs() == 0) v.refuse("it asks for an input, and has none");
        return v.node_.require_order(0, order(terms, num_terms)) ? 1 : 0;
      });
    };
    out.fault = [](void* self, fr_text parameter, fr_text message, fr_text expected, fr_text hint) {
      guarded(self, 0, [&](node_view& v) {
        if (parameter.size == 0)
          v.node_.fault_at_node(as_string(message), as_string(expected), as_string(hint));
        else
          v.node_.fault_at_parameter(as_string(parameter), as_string(message), as_string(expected), as_string(hint));
        return 0;
      });
    };
    out.is_good = [](void* self) { return static_cast<node_view*>(self)->node_.ok() ? 1 : 0; };
    out.set_output = [](void* self, uint32_t port, const fr_column* columns, size_t num_columns,
                        const fr_order_term* terms, size_t num_terms, const fr_estimate* estimate) {
      guarded(self, 0, [&](node_view& v) {
        v.set_output(port, {columns, columns + num_columns}, order(terms, num_terms), estimate);
        return 0;
      });
    };
    return out;
  }

 private:
  template <class Result, class Call>
  static Result guarded(void* self, Result otherwise, Call call) {
    node_view& view = *static_cast<node_view*>(self);
    try {
      return call(view);
    } catch (...) {
      if (!view.problem_.raised) view.problem_.raised = std::current_exception();
      return otherwise;
    }
  }

  static plan::order order(const fr_order_term* terms, size_t num_terms) {
    plan::order out;
    for (size_t i = 0; i < num_terms; ++i)
      out.push_back({as_string(terms[i].column), terms[i].is_descending != 0, terms[i].from, terms[i].length});
    return out;
  }

  uint64_t integer(const std::string& name) {
    for (const plan::parameter_declaration& p : node_.node().declaration->parameters) {
      if (p.name != name) continue;
      if (p.kind == plan::parameter_kind::bytes) return node_.bytes(name);
      if (p.kind == plan::parameter_kind::boolean) return node_.boolean(name) ? 1 : 0;
    }
    return node_.integer(name);
  }

  size_t columns(const std::string& name, uint32_t* places, size_t most) {
    if (node_.num_inputs() == 0) refuse("it asks for an input, and has none");
    size_t count = 0;
    for (const std::string& column : node_.columns(name)) {
      const auto place = node_.input_type().index_of(column);
      if (place && count < most) places[count] = static_cast<uint32_t>(*place);
      ++count;
    }
    return count;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw error(error_kind::internal, fmt::format("{}: {}", who_, what), "tell the author of the plugin");
  }

  void set_output(uint32_t port, const std::vector<fr_column>& columns, plan::order sorted_by,
                  const fr_estimate* estimate) {
    if (port >= node_.node().outputs.size()) refuse(fmt::format("it sets output {}, which it doesn't have", port));
    std::vector<record::column> out;
    std::set<std::string> names;
    for (const fr_column& c : columns) {
      const std::string name = as_string(c.name);
      // Names may come from the job's own parameters, so these are faults of the node.
      if (!specs::is_id(name) || name.find('-') != std::string::npos)
        return node_.fault_at_node(fmt::format("{} would give a column the name '{}'", who_, name),
                                   "letters, digits and _, as expressions have them");
      if (!names.insert(name).second)
        return node_.fault_at_node(fmt::format("{} would give two columns the name '{}'", who_, name),
                                   "distinct names");
      const bool is_bytes = c.type.kind == FR_BYTES;
      if (c.type.kind > FR_STRING ||
          (is_bytes && (c.type.num_bytes == 0 || c.type.num_bytes > record::max_fixed_bytes)))
        refuse(fmt::format("its column '{}' has no type", name));
      out.push_back({name, is_bytes ? value_type::fixed_bytes(c.type.num_bytes)
                                    : value_type::of(static_cast<type_kind>(c.type.kind))});
    }
    if (out.empty()) refuse("its output has no columns");
    uint64_t row_bytes = 0;
    for (const record::column& c : out) row_bytes += c.type.num_bytes;
    if (row_bytes > GiB)
      return node_.fault_at_node(fmt::format("{} would give rows of {}", who_, format_bytes(row_bytes)),
                                 "at most 1 GiB");
    record::row_type type(std::move(out));
    for (const plan::order_term& t : sorted_by)
      if (!type.index_of(t.column))
        refuse(fmt::format("its output is sorted by '{}', which it doesn't have", t.column));
    plan::row_estimate rows;
    if (estimate != nullptr && estimate->is_known)
      rows = {estimate->rows,          estimate->num_bytes, true,
              estimate->is_exact != 0, estimate->most_rows, estimate->most_bytes};
    node_.set_output(port, std::move(type), std::move(sorted_by), rows);
  }

  plan::node_checker& node_;
  fr_problem& problem_;
  const std::string& who_;
  std::deque<std::string> texts_;
  std::vector<fr_column> columns_;
  std::vector<fr_order_term> order_;
  fr_row_type input_{};
};

}  // namespace

std::vector<fr_column> columns_of(const record::row_type& type) {
  std::vector<fr_column> out;
  for (const record::column& c : type.columns())
    out.push_back({as_text(c.name), {static_cast<uint32_t>(c.type.kind), c.type.num_bytes}, c.offset, 0});
  return out;
}

plugin_settings check_node(plan::node_checker& node, const fr_operator& table, const std::string& who) {
  fr_problem problem;
  node_view view(node, problem, who);
  const fr_node handed = view.table();
  void* made = nullptr;
  const inside plugin(who);
  const int done = table.check(table.context, &handed, &made, &problem);
  plugin_settings out{std::shared_ptr<void>(made, [destroy = table.destroy_settings](void* settings) {
    if (settings != nullptr && destroy != nullptr) destroy(settings);
  })};
  if (problem.raised || (done != FR_OK && node.ok())) raise(problem, who);
  if (!node.ok()) return out;
  for (const plan::output_port& port : node.node().outputs)
    if (port.type.num_columns() == 0)
      throw error(error_kind::internal,
                  fmt::format("{}: its check leaves the output '{}' without columns", who, port.name),
                  "tell the author of the plugin");
  return out;
}

}  // namespace flowrun::plugins
