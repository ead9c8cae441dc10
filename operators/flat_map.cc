// flat_map: several rows from each row.
//
// All entries are computed by one program as one wide row, which is cut into the rows (row_entries.h).
#include <algorithm>

#include "operators/parts/rules/estimates.h"
#include "operators/parts/rules/program.h"
#include "operators/parts/rules/row_entries.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  std::vector<row_entry> rows;
  void bind(const expr::scalar_values& values) { expr::bind(rows, values); }
};

settings check(plan::node_checker& node) {
  settings s{read_row_entries(node, "rows", expr::scope{.row = &node.input_type(), .row_number = true})};
  if (!node.ok()) return s;
  if (s.rows.empty() || s.rows[0].columns.empty()) {
    node.fault_at_parameter("rows", "a flat_map needs at least one row with one column",
                            "rows: [{column: expression, …}, …]");
    return s;
  }
  record::row_type output = type_of(s.rows[0].columns);
  plan::row_estimate estimate = times(with_type(node.input_estimate(), node.input_type(), output), s.rows.size());
  if (std::any_of(s.rows.begin(), s.rows.end(), [](const row_entry& e) { return e.condition.has_value(); }))
    estimate = at_most(estimate);
  plan::order sorted_by = plan::carried_over(node.input_order(), renamed_by_all(s.rows, node.input_type()));
  node.set_output(0, std::move(output), std::move(sorted_by), estimate);
  return s;
}

class flattener {
 public:
  flattener(exec::build_context& c, const std::vector<row_entry>& rows)
      : rows_(rows, c.output_type().row_bytes(), c.job.pool()),
        program_(exec::program_stage::compile(c.input_type(), {program_step::map(entry_rows::wide_columns(rows))})),
        pool_(c.job.pool()) {}

  // Returns how many rows of `in` are done: those of which all entries were made. Thread-safe.
  size_t flatten(const record::batch& in, uint64_t first_row, exec::output& out) const {
    std::vector<record::batch> wide;
    const size_t num_taken = program_.run(in, first_row, pool_, wide, out.limits());
    for (record::batch& w : wide) out.emit(rows_.narrow(w));
    if (num_taken < in.num_rows) out.leave(num_taken);
    return num_taken;
  }

 private:
  entry_rows rows_;
  expr::row_program program_;
  record::batch_pool& pool_;
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
  outcome push(record::batch& in, exec::output& out, waker&) override {
    next_row_ += flattener_.flatten(in, next_row_, out);
    return outcome::ready();
  }

 private:
  flattener flattener_;
  uint64_t next_row_ = 0;
};

bool counts_rows(const std::vector<row_entry>& rows) {
  for (const row_entry& e : rows) {
    if (e.condition && e.condition->uses_row_number()) return true;
    for (const auto& [name, value] : e.columns)
      if (value.uses_row_number()) return true;
  }
  return false;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  if (counts_rows(s.rows))
    out.stages.emplace_back(std::make_unique<counting_flat_map>(flattener(c, s.rows)));
  else
    out.stages.emplace_back(std::make_unique<flat_map_stage>(flattener(c, s.rows)));
  return out;
}

}  // namespace

template <>
exec::operator_definition word<"flat_map">() {
  plan::operator_declaration d;
  d.name = "flat_map";
  d.summary = "Makes several rows from each row.";
  d.details =
      "`rows` lists what each input row becomes: one map of columns per output row, all with the same columns and "
      "types (a literal takes the type that the column has in the first entry). The key `when` of an entry is not a "
      "column but a condition: where it doesn't hold, this entry makes no row.";
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
  return exec::define<settings>(std::move(d), check, build);
}

}  // namespace flowrun::operators
