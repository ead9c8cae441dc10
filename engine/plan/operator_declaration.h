// The one declaration of an operator (decision D11). It feeds the checker, the planner, the JSON Schema for editors,
// the reference page, `flowrun ops`, and the labels of metrics. Built-in operators and plugins use the same.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace flowrun::plan {

class checked_settings;
class node_checker;
struct node;

// What a parameter's YAML value must look like. The checker verifies this much by itself, before
// operator_declaration::check.
enum class parameter_kind {
  text,               // any scalar
  path,               // a file name
  paths,              // a path or a list of paths
  integer,            // 0 … 2^63-1
  bytes,              // a size such as 64MiB
  number,             // a decimal number
  boolean,            // true or false
  choice,             // one of `choices`
  row_type,           // the name of a type under `types:`, or a map {column: type}
  columns,            // a list of column names of the (first) input
  column_pairs,       // a list of columns both inputs have, or a map {column of the first input: column of the second}
                      // (join)
  sort_keys,          // a list of keys: column, -column, key[0:10], expressions
  named_sort_keys,    // the same, in which a key may have a name: {name: key} (sort)
  expression,         // a row expression
  condition,          // a row expression of type bool
  named_expressions,  // a map {name: expression}
  named_conditions,   // a map {name: condition}
  named_columns,      // a map {name: a list of column names of the (first) input}
  new_names,          // a map {column: its new name} (join, lookup, zip)
  expression_rows,    // a list of maps {name: expression} (flat_map)
  aggregates,         // a map {name: "count()" | "sum(x)" | "min(x)" | "max(x)" | "first(x)" | "last(x)"}
  nodes,              // nodes inside of the node: {id: {op: …}} (loop, if)
  carried,            // a map {name: {rows: …} | {from: …} | {value: …}} (loop)
  new_column,         // the name of a column that the node adds
  texts_by_name,      // a map {name: text}: nodes or expressions (loop, if)
  texts,              // a text or a list of texts, which may be empty
  column_texts,       // a map {column of the node's row type: text} (file.read_csv)
  rules,              // a list of rules {from, when, set, push, emit, to} (pq_scan)
};

struct parameter_declaration {
  std::string name;
  parameter_kind kind = parameter_kind::text;
  bool required = false;
  std::string default_text = {};          // as it would stand in YAML; empty: none
  std::vector<std::string> choices = {};  // for choice
  std::string help;                       // one sentence
  bool names_columns = false;             // of a sink's path: {column} in it stands for the row's value
  bool is_read = false;                   // of a path: a file that is read, by a sink, too
};

// A stored input is taken in as a whole before the node runs (a table that is looked up, an indexed file, the inputs of
// a loop). It ends the pipeline that feeds it, in an earlier phase. The node itself runs later: as a stage in the
// pipeline of its one input that is not stored, or, where all are stored, as the head of a pipeline.
//
// build() is called with node_part::intake and the input's index for the stage that takes the rows in, and with
// node_part::work for the node itself (exec::build_context). memory() is asked the same way. What the intake is given
// stays its own until the node has run, so its minimum must suffice for all that it may not spill.
struct port_declaration {
  std::string name;
  std::string help;
  bool stored = false;
  // With `stored`: the rows are kept as they are, in a container::external_vector (with the first keys of its blocks,
  // if the stream is sorted). The engine makes it, build() is called for the work only. Costs nothing where the rows
  // lie in a vector already, as the streams of a loop's body do.
  bool as_vector = false;
};

// How the executor runs an operator (ARCHITECTURE.md, "A pipeline at work").
enum class operator_role {
  source,     // no input; heads a pipeline
  stateless,  // one input; several batches at once
  ordered,    // one input; batches one after another, in input order
  breaker,    // one input; ends one pipeline and heads the next, in a later phase (sort)
  meeting,    // several inputs; heads a pipeline, fed by queues (join, merge, concat, zip)
  sink,       // one input, writes outside
  control,    // all inputs stored; runs graphs of its own in a phase of its own (loop, if, call), then heads a pipeline
};
std::string to_string(operator_role role);

// Which part of a node is meant, where one runs in several phases.
enum class node_part : uint8_t {
  whole,   // all of it: a node that runs in one phase
  intake,  // of a breaker: its sink, which makes runs. Of a node with stored inputs: the stage that takes one in
  work,    // of a breaker: its source, which merges. Of a node with stored inputs, also a control node: the node itself
  results,  // of a control node: the head that reads what it gave, in a later phase
};
std::string to_string(node_part part);

// How a node's rows are dealt out to the tasks of a cluster (cluster/stages.h). A piece is a stretch of a stream: the
// pieces of all tasks, laid one behind the other, are the stream.
enum class operator_division : uint8_t {
  by_role,  // stateless: pieces; all others: whole
  whole,    // one task has all rows
  pieces,   // any piece by itself
  keys,     // pieces in which rows with equal keys lie together, of the keys that the check needs (node_facts::needs)
  sorting,  // sorts pieces by node_facts::sorts_by, which are merged then
  numbers,  // a source with the parameters `first` and `rows`
  rows,     // a source of files with the parameter `range`
  files,    // a source of files, of which each is read as a whole
};

// Bytes of memory a node wants while it runs. The planner gives each node of a phase its minimum, then shares the rest
// by weight, never more than the maximum (as TPIE does).
struct memory_wish {
  uint64_t minimum = 0;
  uint64_t maximum = 0;
  double weight = 0;
  bool operator==(const memory_wish&) const = default;
};

struct operator_declaration {
  std::string name;     // as in YAML: "sort", "file.read_csv"
  std::string summary;  // one sentence
  std::string details;  // further paragraphs for the reference; may be empty
  std::string order;    // what it needs and gives, in words: "needs: by; gives: by"
  std::string example;  // the YAML of one or more nodes

  operator_role role = operator_role::stateless;
  std::vector<port_declaration> inputs;
  bool any_number_of_inputs = false;  // `in:` is a list; `inputs` has the one pattern port (merge, concat)
  // `in:` is a map of names of the user's choice, a node, a list of nodes (by their own names), or absent; `inputs` has
  // the one pattern port (loop, pq_scan).
  bool inputs_by_name = false;
  std::vector<port_declaration> outputs;
  bool outputs_from_parameters = false;  // the output ports are named by a parameter (split)
  // Its outputs need no reader, because it says something by itself (reduce, check). Otherwise an output without a
  // consumer is a fault.
  bool output_optional = false;
  bool has_error_port = false;  // on_error: {to: PORT} adds an output of rejected rows (file.read_csv)

  std::vector<parameter_declaration> parameters;
  // Every key under `with:` that no parameter has is a column with its expression (map).
  bool free_columns = false;

  // Deterministic, row by row and in sequence: as many rows out as in, at the same positions (map, window, scan).
  // Two such branches of one stream can be zipped in step. A meeting operator with it takes its inputs at one pace
  // (zip). An operator that holds rows back (a window with `after`) says how many in node_facts::rows_behind.
  bool keeps_row_count = false;
  // How many nanoseconds a byte of its rows keeps a thread busy on an ordinary machine; 0: as usual for its role. For
  // the time that a job will still take (exec/pipeline_progress.cc), where only the proportions matter.
  double work_per_byte = 0;
  operator_division division = operator_division::by_role;
  // Tells something about the rows that isn't in its outputs: a line of the report, a fault that ends the job.
  bool reports = false;

  // Pure. Validates the parameters against the input types and orders, reports faults, sets the row type and order of
  // each output, and gives the operator's settings, which are not looked at if there was a fault. Called once all
  // inputs of the node are known; parameters already have their declared shape.
  std::function<checked_settings(node_checker&)> check;
  // Pure. What the node wants, given its checked types, settings and estimates. Null: nothing beyond its batches. With
  // stored inputs, it is asked once for the intake of each of them and once for the work; an empty wish for an intake
  // `as_vector` leaves it to the engine.
  std::function<memory_wish(const node&, node_part)> memory;
};

}  // namespace flowrun::plan
