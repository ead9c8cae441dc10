// The graph of a job as stages for a cluster. Pure.
//
// A stage is a part of the graph that runs as one task, or as several that know nothing of each other. Where rows have
// to come together by their keys, or as a whole, the graph is cut: a stage's tasks write them, and the tasks of later
// stages read what is theirs (SPsort, papers/003).
//
//   pieces of a source ─▶ map, filter, … ─▶ sorted runs ─┤ each task merges a range of keys ─▶ group, join, … ─▶ parts
//
// The rows of a stream lie in the pieces that its stage's tasks give, one behind the other. So every stream has the
// same rows in the same order as on one machine, however many tasks there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/plan/graph.h"

namespace flowrun::cluster {

// What a task reads of a stream that lies in files, which other tasks have written.
enum class reading {
  all,     // every row, in order
  piece,   // a file, or some of them, as they lie behind each other
  merged,  // a range of keys: sorted runs, one for each task that has written, merged
};

struct stage_input {
  int node = -1;
  int port = 0;
  // What the first step of the node has written: runs of a sort, which are merged here, or partial results of a reduce,
  // or the first rows for a limit.
  bool runs = false;
  reading how = reading::all;
  bool operator==(const stage_input&) const = default;
};

// Rows that a stage writes for others: of a node's output, or what the first step of the node has written.
struct stream {
  int node = -1;
  int port = 0;
  bool runs = false;
  auto operator<=>(const stream&) const = default;
};
stream stream_of(const stage_input& in);

struct stage {
  std::vector<int> nodes;  // in topological order; internal ones, which users don't write, are not among them
  // Of which the first step is here: sorts that make their runs, and are merged elsewhere; reduces that give partial
  // results; limits that give the first rows.
  std::vector<int> runs;
  std::vector<stage_input> inputs;
  bool divided = false;  // into several tasks
  int source = -1;       // of which a task reads a piece; -1: none
  // A loop, `if` or call, which is alone here: one task, or stages of its bodies, as the driver decides. -1: no such.
  int control = -1;
  // Of a divided stage that merges: rows that are equal in so many leading terms of their order are in one task. 0: it
  // doesn't matter.
  size_t kept_together = 0;
  std::vector<std::string> reasons;  // why it isn't divided: "'ranks' (scan)", of nodes whose input is

  bool merges() const;
};

struct stages {
  std::vector<stage> all;  // each behind those that it reads from
  // By node: the stage that has its rows; of internal nodes, and of streams that come from outside of a body, -1.
  std::vector<int> of_node;
  // By node: where it has its first step, as a sort makes its runs; -1: it has one step.
  std::vector<int> of_runs;
  // What leaves a body.
  std::vector<stream> results;
};

// `divides`: by node, whether a source can be read in pieces, and whether a reduce or limit has two steps. Loops,
// `if` and calls are not looked into. Of a body, streams from outside lie in files already.
stages find_stages(const plan::graph& g, const std::vector<bool>& divides);

// Whether the node has to have all rows of the input: it stores them, and doesn't do that only to skip some of rows
// that are sorted as it wants them.
bool takes_all_rows(const plan::node& n, size_t input);

// Those that other stages read, and those that leave a body.
std::vector<stream> streams_written(const stages& all, size_t stage);

// The node that the rows of an input come from, behind internal ones: (node, port). Of a stream from outside of a body,
// of which each reader has a node, the first of these.
std::pair<int, int> origin_of(const plan::graph& g, int node, int port);

// What the runs of a sort are sorted by: its keys, and where rows are sorted as whole numbers what remains of them.
plan::order order_of_runs(const plan::graph& g, int sort);

// What the stream is sorted by, for those who merge it.
plan::order order_of(const plan::graph& g, const stage_input& in);
// As much of it as tells the ranges of tasks apart. `kept_together`: stage's; 0: all of it.
plan::order range_of(const plan::graph& g, const stage_input& in, size_t kept_together);

}  // namespace flowrun::cluster
