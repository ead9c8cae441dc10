// flat_map: several rows from each row.
//
// All entries are computed by one program as one wide row: packed rows lie side by side without padding, so a batch of
// wide rows *is* the batch of the k times as many narrow rows, in the right order, and nothing is copied. With `when`
// conditions one byte per entry follows in the wide row, and the rows that stay are gathered.
#include <fmt/format.h>

#include <algorithm>

#include "operators/column_copy.h"
#include "operators/estimates.h"
#include "operators/program.h"
#include "operators/registry.h"

namespace flowrun::operators {

namespace {

constexpr const char* condition_name = "when";

struct entry {
  named_expressions columns;  // in the order of the first entry's
  std::optional<expr::expression> condition;
};
struct settings {
  std::vector<entry> entries;
};

// The value as a column of type `wanted`: itself, or a literal that fits.
std::optional<expr::expression> as_type(const expr::expression& value, record::value_type wanted) {
  if (value.type() == wanted) return value;
  const std::optional<uint64_t> bits = value.constant_bits();
  if (!bits || value.type().is_float() || !value.type().is_integer()) return std::nullopt;
  if (wanted.is_integer() && wanted.num_bytes < 8) {
    const unsigned width = 8 * wanted.num_bytes;
    const int64_t number = static_cast<int64_t>(*bits);
    const bool fits = wanted.is_signed()
                          ? number >= -(int64_t{1} << (width - 1)) && number < (int64_t{1} << (width - 1))
                          : (*bits >> width) == 0;
    if (!fits) return std::nullopt;
  }
  return value.converted_to(wanted);
}

settings read(plan::node_checker& node) {
  settings out;
  const auto rows = node.expression_rows("rows", expr::scope{.row = &node.input_type(), .row_number = true});
  const auto fault = [&](std::string message, std::string expected, std::string hint = {}) {
    node.fault_at_parameter("rows", std::move(message), std::move(expected), std::move(hint));
  };
  for (size_t k = 0; k < rows.size(); ++k) {
    entry e;
    named_expressions given;
    for (const auto& column : rows[k]) {
      if (column.first != condition_name) {
        given.push_back(column);
      } else if (column.second.type().is_boolean()) {
        e.condition = column.second;
      } else {
        fault(fmt::format("'when' of entry {} is {}", k + 1, to_string(column.second.type())), "bool",
              "compare it: x != 0");
      }
    }
    if (k == 0) {
      e.columns = std::move(given);
      out.entries.push_back(std::move(e));
      continue;
    }
    const named_expressions& first = out.entries[0].columns;
    for (const auto& [name, model] : first) {
      const auto same = std::find_if(given.begin(), given.end(), [&](const auto& c) { return c.first == name; });
      if (same == given.end()) {
        if (node.ok())
          fault(fmt::format("entry {} has no column '{}', the first entry has", k + 1, name),
                "the same columns in every entry");
        continue;
      }
      if (auto value = as_type(same->second, model.type()))
        e.columns.emplace_back(name, *std::move(value));
      else
        fault(fmt::format("column '{}' is {} in entry {} and {} in the first", name, to_string(same->second.type()),
                          k + 1, to_string(model.type())),
              "the same type in every entry",
              fmt::format("write {}({})", to_string(model.type()), same->second.text()));
    }
    for (const auto& [name, value] : given)
      if (std::none_of(first.begin(), first.end(), [&, n = &name](const auto& c) { return c.first == *n; }))
        fault(fmt::format("column '{}' of entry {} is not in the first entry", name, k + 1),
              "the same columns in every entry");
    out.entries.push_back(std::move(e));
  }
  return out;
}

// The order that all entries carry over.
plan::order common_order(plan::node_checker& node, const settings& s) {
  plan::order common = plan::carried_over(node.input_order(), renamed(s.entries[0].columns, node.input_type()));
  for (const entry& e : s.entries) {
    const plan::order other = plan::carried_over(node.input_order(), renamed(e.columns, node.input_type()));
    const auto [end, ignored] = std::mismatch(common.begin(), common.end(), other.begin(), other.end());
    common.erase(end, common.end());
  }
  return common;
}

void check(plan::node_checker& node) {
  const settings s = read(node);
  if (!node.ok()) return;
  if (s.entries.empty() || s.entries[0].columns.empty()) {
    node.fault_at_parameter("rows", "a flat_map needs at least one row with one column",
                            "rows: [{column: expression, …}, …]");
    return;
  }
  record::row_type output = type_of(s.entries[0].columns);
  plan::row_estimate estimate = with_type(node.input_estimate(), node.input_type(), output);
  estimate.rows *= s.entries.size();
  estimate.num_bytes *= s.entries.size();
  if (std::any_of(s.entries.begin(), s.entries.end(), [](const entry& e) { return e.condition.has_value(); }))
    estimate = at_most(estimate);
  node.set_output(0, std::move(output), common_order(node, s), estimate);
}

class flattener {
 public:
  flattener(exec::build_context& c, const settings& s)
      : num_entries_(s.entries.size()),
        row_bytes_(c.output_type().row_bytes()),
        program_(exec::program_stage::compile(c.input_type(), {program_step::map(wide_columns(s, flags_))})),
        pool_(c.job.pool()),
        max_rows_(std::max<size_t>(c.batch_bytes / std::max<size_t>(program_.output().row_bytes(), 1), 64)) {}

  // Thread-safe.
  void flatten(const record::batch& in, uint64_t first_row, exec::output& out) const {
    std::vector<record::batch> wide;
    for (size_t from = 0; from < in.num_rows; from += max_rows_)
      program_.run(in.slice(from, std::min(max_rows_, in.num_rows - from)), first_row + from, pool_, wide);
    for (record::batch& w : wide) out.emit(flags_.empty() ? narrow(w) : gather(w));
  }

 private:
  // The entries with a condition, ascending; their flags lie behind the rows in this order.
  using flag_list = std::vector<size_t>;

  static named_expressions wide_columns(const settings& s, flag_list& flags) {
    named_expressions out;
    for (size_t k = 0; k < s.entries.size(); ++k)
      for (const auto& [name, value] : s.entries[k].columns) out.emplace_back(fmt::format("{}.{}", k, name), value);
    for (size_t k = 0; k < s.entries.size(); ++k) {
      if (!s.entries[k].condition) continue;
      out.emplace_back(fmt::format("{}?", k), *s.entries[k].condition);
      flags.push_back(k);
    }
    return out;
  }

  record::batch narrow(record::batch& wide) const {
    wide.num_rows *= num_entries_;
    wide.row_bytes = row_bytes_;
    return std::move(wide);
  }

  record::batch gather(const record::batch& wide) const {
    std::shared_ptr<std::byte[]> rows = pool_.take(wide.num_rows * num_entries_ * row_bytes_);
    std::byte* to = rows.get();
    size_t num_rows = 0;
    for (size_t i = 0; i < wide.num_rows; ++i) {
      const std::byte* row = wide.row(i);
      const std::byte* flags = row + num_entries_ * row_bytes_;
      size_t next_flag = 0;
      for (size_t k = 0; k < num_entries_; ++k) {
        const bool conditional = next_flag < flags_.size() && flags_[next_flag] == k;
        if (conditional && flags[next_flag++] == std::byte{0}) continue;
        copy_bytes(to, row + k * row_bytes_, row_bytes_);
        to += row_bytes_;
        ++num_rows;
      }
    }
    return sharing_heap(wide, std::move(rows), num_rows, row_bytes_);
  }

  flag_list flags_;
  size_t num_entries_;
  uint32_t row_bytes_;
  expr::row_program program_;
  record::batch_pool& pool_;
  size_t max_rows_;  // of input at a time
};

class flat_map_stage final : public exec::stateless_stage {
 public:
  explicit flat_map_stage(flattener f) : flattener_(std::move(f)) {}
  void apply(const record::batch& in, exec::output& out) const override { flattener_.flatten(in, 0, out); }

 private:
  flattener flattener_;
};

// For expressions that use row_number.
class counting_flat_map final : public exec::ordered_stage {
 public:
  explicit counting_flat_map(flattener f) : flattener_(std::move(f)) {}
  exec::outcome push(record::batch& in, exec::output& out, waker&) override {
    flattener_.flatten(in, next_row_, out);
    next_row_ += in.num_rows;
    return exec::outcome::ready();
  }

 private:
  flattener flattener_;
  uint64_t next_row_ = 0;
};

bool counts_rows(const settings& s) {
  for (const entry& e : s.entries) {
    if (e.condition && e.condition->uses_row_number()) return true;
    for (const auto& [name, value] : e.columns)
      if (value.uses_row_number()) return true;
  }
  return false;
}

exec::assembly build(exec::build_context& c) {
  const settings s = read(c.params);
  exec::assembly out;
  if (counts_rows(s))
    out.stages.emplace_back(std::make_unique<counting_flat_map>(flattener(c, s)));
  else
    out.stages.emplace_back(std::make_unique<flat_map_stage>(flattener(c, s)));
  return out;
}

exec::operator_definition define() {
  plan::operator_declaration d;
  d.name = "flat_map";
  d.summary = "Makes several rows from each row.";
  d.details =
      "`rows` lists what each input row becomes: one map of columns per output row, all with the same columns and "
      "types (a "
      "literal takes the type that the column has in the first entry). The key `when` of an entry is not a column but "
      "a "
      "condition: where it doesn't hold, this entry makes no row.";
  d.order = "keeps: the leading order columns that every entry carries over unchanged under the same name";
  d.example =
      "both: {op: flat_map, in: edges, with: {rows: [{src: src, dst: dst}, {src: dst, dst: src, when: \"src != "
      "dst\"}]}}\n";
  d.role = plan::operator_role::stateless;
  d.inputs = {{"in", "the rows to compute from"}};
  d.outputs = {{"out", "for each input row one row per entry, in the order of the entries"}};
  d.parameters = {{.name = "rows",
                   .kind = plan::parameter_kind::expression_rows,
                   .required = true,
                   .help = "One map {column: expression} for each row to make; `when` makes an entry conditional."}};
  d.check = check;
  return {std::move(d), build};
}

}  // namespace

const exec::operator_definition& flat_map_operator() {
  static const exec::operator_definition definition = define();
  return definition;
}

}  // namespace flowrun::operators
