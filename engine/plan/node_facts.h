// What the check of an operator tells the planner of a node, beyond the types, orders and estimates of its outputs.
// What the operator itself wants to know again belongs into its settings (checked_settings.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/order.h"
#include "engine/plan/stored_pass.h"

namespace flowrun::plan {

// Facts of a breaker that sorts.
struct sort_facts {
  uint64_t limit_rows = 0;   // it keeps at most so many rows; 0: all
  bool limited = false;      // it gives the first rows only, also where it has to keep more
  bool long_runs = false;    // runs of about twice the memory
  bool compressed = false;   // runs take fewer bytes than their rows
  bool unique = false;       // equal rows become one while runs are made
  bool drops_equal = false;  // equal keys become one row, by unique or by combining
  bool indexed = false;      // sorted by an index, as rows of more than 16 bytes are
  // Of the rows that are sorted, where these are not the input's: partial results, or with a hidden key.
  std::optional<uint32_t> row_bytes;
  std::optional<uint64_t> num_bytes;  // in memory, with the index; nullopt: not known
};

// The file beside a file of sorted rows that says where they are (PATH.index).
struct index_facts {
  std::string path;                   // of the file of rows
  std::optional<uint64_t> num_bytes;  // nullopt: not there yet, or can't be looked at
};

// What a sink writes to several files, one for each value of columns that its path names.
struct partition_facts {
  std::vector<std::string> columns;
  uint64_t max_files = 0;
  bool one_after_another = false;  // the rows of a file are proved to lie together
  bool leaves_out = false;         // these columns are not written
};

// A column of which a sink writes nothing where another one says that its value is missing. The other one is not written.
struct told_missing {
  std::string column;
  std::string told_by;
};

// The check needs rows with equal values in the first `num_terms` terms of an input's order next to each other, or in
// that order.
struct needed_key {
  size_t input = 0;
  size_t num_terms = 0;
};

struct node_facts {
  sort_facts sort;
  order sorts_by;                 // of a sort whose keys are all columns, or slices of them, of its input
  std::vector<needed_key> needs;  // in the order in which the check asked
  bool names_row_number = false;  // an expression names the place of a row in its stream
  // How many rows an operator that keeps the row count holds back (a window with `after`).
  uint64_t rows_behind = 0;
  std::optional<uint64_t> input_bytes;        // what a source's files hold; the planner's own
  std::optional<index_facts> index;           // that a source reads or a sink writes
  std::optional<partition_facts> partitions;  // of a sink
  std::vector<told_missing> missing;          // of a sink of text
  // Of a sink: each row takes so many bytes of its files. nullopt: that depends on the rows.
  std::optional<uint32_t> written_row_bytes;
  std::optional<index_facts> seeks_in_file;   // the stored input is such a file, and the node seeks in it
  bool bodies_run = false;                    // of a control node: each of its graphs is sure to run
  bool seeks = false;                         // of a control node: something inside seeks in its inputs
  bool sought = false;                   // of a body's result: needs an index, since the next iteration seeks in it
  std::optional<uint64_t> stored_bytes;  // what a node stores in a way of its own
  stored_pass_rule pass;                 // how it does that; null: it doesn't
};

}  // namespace flowrun::plan
