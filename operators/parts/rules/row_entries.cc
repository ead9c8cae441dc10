#include "operators/parts/rules/row_entries.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/expr/conversion.h"
#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

namespace {

constexpr const char* condition_name = "when";

// The value as a column of type `wanted`: itself, a constant number that fits, or a constant text of a time or a
// decimal.
std::optional<expr::expression> as_type(const expr::expression& value, record::value_type wanted) {
  if (value.type() == wanted) return value;
  const bool integer = value.type().is_integer() && value.constant_bits();
  const bool time = wanted.is_time() && value.type().is_text();
  const bool decimal = wanted.is_decimal() && value.is_constant();
  return integer || time || decimal ? value.converted_to(wanted) : std::nullopt;
}

}  // namespace

std::vector<row_entry> read_row_entries(plan::node_checker& node, const std::string& parameter,
                                        const expr::scope& scope) {
  std::vector<row_entry> out;
  const auto rows = node.expression_rows(parameter, scope);
  const auto fault = [&](std::string message, std::string expected, std::string hint = {}) {
    node.fault_at_parameter(parameter, std::move(message), std::move(expected), std::move(hint));
  };
  for (size_t k = 0; k < rows.size(); ++k) {
    row_entry e;
    named_expressions given;
    for (const auto& column : rows[k]) {
      if (column.first != condition_name) {
        given.push_back(column);
      } else if (column.second.type().is_boolean()) {
        e.condition = column.second;
      } else {
        const expr::problem why =
            expr::conversion_problem(column.second, record::value_type::of(record::type_kind::boolean));
        fault(fmt::format("'when' of entry {} is {}", k + 1, to_string(column.second.type())), "bool", why.hint);
      }
    }
    if (k == 0) {
      e.columns = std::move(given);
      out.push_back(std::move(e));
      continue;
    }
    const named_expressions& first = out[0].columns;
    for (const auto& wanted : first) {
      const auto& [name, model] = wanted;
      const auto same =
          std::find_if(given.begin(), given.end(), [&](const auto& c) { return c.first == wanted.first; });
      if (same == given.end()) {
        if (node.ok())
          fault(fmt::format("entry {} has no column '{}', the first entry has", k + 1, name),
                "the same columns in every entry");
        continue;
      }
      if (auto value = as_type(same->second, model.type()))
        e.columns.emplace_back(name, *std::move(value));
      else {
        const std::string wider = expr::widening_hint(model, same->second, "in the first entry");
        fault(fmt::format("column '{}' is {} in entry {} and {} in the first", name, to_string(same->second.type()),
                          k + 1, to_string(model.type())),
              "the same type in every entry",
              wider.empty() ? expr::conversion_problem(same->second, model.type()).hint : wider);
      }
    }
    for (const auto& [name, value] : given)
      if (std::none_of(first.begin(), first.end(), [&, n = &name](const auto& c) { return c.first == *n; }))
        fault(fmt::format("column '{}' of entry {} is not in the first entry", name, k + 1),
              "the same columns in every entry");
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> renamed_by_all(const std::vector<row_entry>& entries,
                                                                const record::row_type& input) {
  auto common = renamed(entries.front().columns, input);
  for (const row_entry& e : entries) {
    const auto names = renamed(e.columns, input);
    std::erase_if(common, [&](const auto& pair) { return std::find(names.begin(), names.end(), pair) == names.end(); });
  }
  return common;
}

entry_rows::entry_rows(const std::vector<row_entry>& entries, uint32_t row_bytes, record::batch_pool& pool)
    : num_entries_(entries.size()), row_bytes_(row_bytes), pool_(pool) {
  for (size_t k = 0; k < entries.size(); ++k)
    if (entries[k].condition) conditional_.push_back(k);
}

named_expressions entry_rows::wide_columns(const std::vector<row_entry>& entries) {
  named_expressions out;
  for (size_t k = 0; k < entries.size(); ++k)
    for (const auto& [name, value] : entries[k].columns) out.emplace_back(fmt::format("{}.{}", k, name), value);
  for (size_t k = 0; k < entries.size(); ++k)
    if (entries[k].condition) out.emplace_back(fmt::format("{}?", k), *entries[k].condition);
  return out;
}

record::batch entry_rows::narrow(record::batch& wide) const {
  if (!conditional_.empty()) return gather(wide);
  wide.num_rows *= num_entries_;
  wide.row_bytes = row_bytes_;
  return std::move(wide);
}

record::batch entry_rows::gather(const record::batch& wide) const {
  std::shared_ptr<std::byte[]> rows = pool_.take(wide.num_rows * num_entries_ * row_bytes_);
  std::byte* to = rows.get();
  size_t num_rows = 0;
  for (size_t i = 0; i < wide.num_rows; ++i) {
    const std::byte* row = wide.row(i);
    const std::byte* flags = row + num_entries_ * row_bytes_;
    size_t next_flag = 0;
    for (size_t k = 0; k < num_entries_; ++k) {
      const bool has_flag = next_flag < conditional_.size() && conditional_[next_flag] == k;
      if (has_flag && flags[next_flag++] == std::byte{0}) continue;
      copy_bytes(to, row + k * row_bytes_, row_bytes_);
      to += row_bytes_;
      ++num_rows;
    }
  }
  return sharing_heap(wide, std::move(rows), num_rows, row_bytes_);
}

}  // namespace flowrun::operators
