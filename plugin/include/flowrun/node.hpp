// A node of a job while it is checked, in C++20; included by flowrun/plugin.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowrun/rows.hpp"

namespace fr {

// How a breaker's rows are sorted.
struct sort_rule {
  row_type rows;
  order by;
  uint64_t limit = 0;  // 0: all rows are wanted
  bool stable = false, unique = false;
};

// What a part of a node wants beside its batches.
struct memory_wish {
  uint64_t minimum = 0, maximum = 0;
  double weight = 1;
};

// What becomes of rows that can't be used.
struct error_policy {
  uint32_t action = FR_ON_ERROR_FAIL;
  uint32_t port = 0;
};

// What check() sees of a node.
class node {
 public:
  explicit node(const fr_node& raw) : raw_(raw) {}
  std::string id() const { return std::string(detail::as_view(raw_.id)); }
  size_t num_inputs() const { return raw_.num_inputs; }

  bool has(std::string_view name) const { return raw_.has(raw_.self, detail::as_text(name)) != 0; }
  // Also of a path and a choice.
  std::string text(std::string_view name) const {
    return std::string(detail::as_view(raw_.text(raw_.self, detail::as_text(name))));
  }
  uint64_t integer(std::string_view name) const { return raw_.integer(raw_.self, detail::as_text(name)); }
  uint64_t bytes(std::string_view name) const { return integer(name); }
  bool boolean(std::string_view name) const { return integer(name) != 0; }
  double number(std::string_view name) const { return raw_.number(raw_.self, detail::as_text(name)); }
  std::vector<std::string> paths(std::string_view name) const {
    std::vector<fr_text> found(raw_.paths(raw_.self, detail::as_text(name), nullptr, 0));
    raw_.paths(raw_.self, detail::as_text(name), found.data(), found.size());
    std::vector<std::string> out;
    for (const fr_text& path : found) out.emplace_back(detail::as_view(path));
    return out;
  }
  // Of the columns of what a source reads.
  std::vector<std::string> names(std::string_view name) const { return paths(name); }
  // Their places in an input; unknown ones are faults already.
  std::vector<uint32_t> columns(std::string_view name, size_t input = 0) const {
    std::vector<uint32_t> out(raw_.columns(raw_.self, detail::as_text(name), input, nullptr, 0));
    out.resize(raw_.columns(raw_.self, detail::as_text(name), input, out.data(), out.size()));
    return out;
  }
  // (place in the first input, place in the second)
  std::vector<std::pair<uint32_t, uint32_t>> column_pairs(std::string_view name) const {
    std::vector<uint32_t> places(2 * raw_.column_pairs(raw_.self, detail::as_text(name), nullptr, 0));
    raw_.column_pairs(raw_.self, detail::as_text(name), places.data(), places.size() / 2);
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (size_t i = 0; i + 1 < places.size(); i += 2) out.emplace_back(places[i], places[i + 1]);
    return out;
  }
  std::optional<fr::row_type> row_type(std::string_view name) const {
    const fr_row_type* const type = raw_.row_type(raw_.self, detail::as_text(name));
    if (type == nullptr) return std::nullopt;
    return detail::as_row_type(*type);
  }

  // Expressions are computed by flowrun: a column of the rows that steps get, behind the input's. nullopt: there is
  // none, or a faulty one.
  std::optional<column> expression(std::string_view name) const {
    fr_column found{};
    if (raw_.expression(raw_.self, detail::as_text(name), &found) == 0) return std::nullopt;
    return column{std::string(detail::as_view(found.name)), found.type, found.offset};
  }
  std::vector<column> expressions(std::string_view name) const {
    std::vector<fr_column> found(raw_.expressions(raw_.self, detail::as_text(name), nullptr, 0));
    found.resize(raw_.expressions(raw_.self, detail::as_text(name), found.data(), found.size()));
    std::vector<column> out;
    for (const fr_column& c : found) out.push_back({std::string(detail::as_view(c.name)), c.type, c.offset});
    return out;
  }
  order sort_keys(std::string_view name) const {
    std::vector<fr_order_term> found(raw_.sort_keys(raw_.self, detail::as_text(name), nullptr, 0));
    found.resize(raw_.sort_keys(raw_.self, detail::as_text(name), found.data(), found.size()));
    return detail::as_order(found.data(), found.size());
  }
  // What steps get: the input's columns and those of the expressions so far.
  fr::row_type rows() const { return detail::as_row_type(*raw_.rows(raw_.self)); }

  fr::row_type input(size_t i = 0) const { return detail::as_row_type(*raw_.input_type(raw_.self, i)); }
  order input_order(size_t i = 0) const {
    const fr_order_term* terms = nullptr;
    const size_t count = raw_.input_order(raw_.self, i, &terms);
    return detail::as_order(terms, count);
  }
  estimate input_estimate(size_t i = 0) const {
    fr_estimate e{};
    raw_.input_estimate(raw_.self, i, &e);
    return {e.rows, e.num_bytes, e.is_known != 0, e.is_exact != 0, e.most_rows, e.most_bytes};
  }
  // A fault, which names the sort to add, unless the input is sorted so.
  bool require_order(const order& need, size_t input = 0) const {
    const std::vector<fr_order_term> terms = detail::as_terms(need);
    return raw_.require_order(raw_.self, input, terms.data(), terms.size()) != 0;
  }

  // At a parameter, or with an empty name at the node.
  void fault(std::string_view parameter, std::string_view message, std::string_view expected = {},
             std::string_view hint = {}) const {
    raw_.fault(raw_.self, detail::as_text(parameter), detail::as_text(message), detail::as_text(expected),
               detail::as_text(hint));
  }
  bool good() const { return raw_.is_good(raw_.self) != 0; }
  error_policy on_error() const {
    error_policy out;
    out.action = raw_.on_error(raw_.self, &out.port);
    return out;
  }

  // Once for each output.
  void set_output(uint32_t port, const fr::row_type& type, const order& sorted_by = {},
                  const estimate& rows = {}) const {
    const std::vector<fr_column> columns = detail::as_columns(type);
    const std::vector<fr_order_term> terms = detail::as_terms(sorted_by);
    const fr_estimate e{rows.rows, rows.num_bytes, rows.known, rows.exact, rows.most_rows, rows.most_bytes};
    raw_.set_output(raw_.self, port, columns.data(), columns.size(), terms.data(), terms.size(), &e);
  }
  // Of a breaker, once.
  void set_sort(const sort_rule& rule) const {
    const std::vector<fr_column> columns = detail::as_columns(rule.rows);
    const std::vector<fr_order_term> terms = detail::as_terms(rule.by);
    const fr_sort raw{sizeof raw,   columns.data(), columns.size(), terms.data(),
                      terms.size(), rule.limit,     rule.stable,    rule.unique};
    raw_.set_sort(raw_.self, &raw);
  }
  void set_memory(const memory_wish& wish, uint32_t part = FR_WHOLE) const {
    const fr_memory raw{wish.minimum, wish.maximum, wish.weight};
    raw_.set_memory(raw_.self, part, &raw);
  }

 private:
  const fr_node& raw_;
};

}  // namespace fr
