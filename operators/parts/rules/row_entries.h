// Several rows from one: a list of maps of columns, each with a condition `when` if it has one (flat_map, scan).
//
// All entries are computed as one wide row: packed rows lie side by side without padding, so a batch of wide rows *is*
// the batch of the k times as many narrow rows, in the right order, and nothing is copied. With conditions one byte per
// entry that has one follows in the wide row, and the rows that stay are gathered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "engine/record/batch.h"
#include "operators/parts/rules/program.h"

namespace flowrun::operators {

struct row_entry {
  named_expressions columns;  // in the order of the first entry's
  std::optional<expr::expression> condition;
  void bind(const expr::scalar_values& values) { expr::bind_all(values, columns, condition); }
};

// The entries of an expression_rows parameter; faults unless all have the same columns of the same types.
std::vector<row_entry> read_row_entries(plan::node_checker& node, const std::string& parameter,
                                        const expr::scope& scope);

// (old name, new name) of the columns that every entry carries over as they are.
std::vector<std::pair<std::string, std::string>> renamed_by_all(const std::vector<row_entry>& entries,
                                                                const record::row_type& input);

class entry_rows {
 public:
  // `pool` outlives it.
  entry_rows(const std::vector<row_entry>& entries, uint32_t row_bytes, record::batch_pool& pool);

  // The columns that make a wide row.
  static named_expressions wide_columns(const std::vector<row_entry>& entries);
  // The rows that a batch of wide rows stands for. Thread-safe.
  record::batch narrow(record::batch& wide) const;

 private:
  record::batch gather(const record::batch& wide) const;

  size_t num_entries_;
  uint32_t row_bytes_;
  std::vector<size_t> conditional_;  // entries, ascending: their flags lie behind the rows in this order
  record::batch_pool& pool_;
};

}  // namespace flowrun::operators
