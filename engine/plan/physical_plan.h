// The physical plan: pipelines, phases, queues and memory, decided before the run by pure functions (decision D9).
//
// A pipeline is a tree: its head (a source, the source half of a breaker, or a meeting node) followed by the
// single-input nodes that one task carries a batch through. Its leaves are sinks, sink halves of breakers, and the
// queues that feed meeting nodes. Phases run one after another; the pipelines of a phase run at the same time.
//
// Stored inputs (operator_declaration.h) are leaves too, of a phase before the one in which their node runs. Such a
// node may be a stage in the middle of a pipeline. Where that pipeline would have to run both before and after a stored
// input is filled, it is cut, and the stage heads a pipeline of its own, fed by a queue. The same holds for nodes whose
// expressions name values of one row (plan::scalar_row): they are built once the row is known.
//
// A control node has a phase of its own, in which graphs of its own run, each with a physical plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/graph.h"
#include "engine/sizes/sort_memory.h"

namespace flowrun::plan {

// How rows get from a pipeline to a meeting node.
enum class queue_kind {
  bounded,   // a few batches; producer and consumer run in the same phase, in step
  spilling,  // unbounded, on scratch beyond its share of memory: branches of one stream that meet again, or a later
             // phase
};

struct queue {
  int from_node = -1;
  int from_port = 0;
  int to_node = -1;
  int to_input = 0;
  queue_kind kind = queue_kind::bounded;
  int in_step_with = -1;  // a queue before this one between the same pipelines, whose rows come and go in step with it
  uint64_t memory_bytes = 0;  // of a spilling queue between phases: held until its reader's phase has ended
  uint64_t kept_bytes = 0;    // what such a queue holds instead during phases of recursions in between
  std::string reason;         // why it spills
};

// The stage that takes in a stored input.
struct stored_input {
  int node = -1;
  int input = 0;
  bool operator==(const stored_input&) const = default;
};

struct pipeline {
  int head = -1;         // node; for a breaker its merging part, for a stage that was cut off what reads its queue
  bool control = false;  // the head is a control node at work: nothing flows
  std::vector<int>
      nodes;  // the nodes behind the head in topological order; includes elided sorts, sinks and breakers' sink halves
  std::vector<int> queues;  // indices of queues it feeds
  std::vector<stored_input> stores;
  int phase = 0;
};

struct phase {
  std::vector<int> pipelines;
  uint64_t memory_bytes = 0;   // what its nodes and queues were given
  uint64_t batches_bytes = 0;  // set aside for batches in flight
  uint64_t held_bytes = 0;     // kept by breakers and queues of earlier phases (memory_share::kept_bytes)
  uint64_t sort_halves = 0;    // of sorts that work in it, or wait with their runs
};

// Predicted for one sort (Asynchronous sorting, section 2: run formation and merging).
struct sort_prediction {
  int node = -1;
  bool known = false;
  uint64_t rows = 0;
  uint64_t num_bytes = 0;
  uint64_t runs = 0;  // 0: stays in memory
  uint64_t fan_in = 0;
  uint64_t merge_passes = 0;   // 0: stays in memory; 1: one merge, while its output flows on
  uint64_t written_bytes = 0;  // to scratch, in whole blocks
  uint64_t read_bytes = 0;
  uint64_t peak_bytes = 0;       // on scratch at once
  uint64_t block_bytes = 0;      // of the runs, or of what takes their place (in_blocks)
  sizes::creator_sizes creator;  // what the two halves are handed
  sizes::merger_sizes merger;
  uint64_t kept_bytes = 0;  // of the rows, never written: the last run stays in memory
  bool compressed = false;  // the runs: written_bytes and read_bytes become less
  bool in_blocks = false;   // no runs: memoryloads, as many as `runs`, whose blocks go where they belong (permute)
};

struct memory_share {
  int node = -1;
  node_part part = node_part::whole;
  int input = 0;  // of the intake of a node with stored inputs
  int phase = 0;
  uint64_t minimum = 0;
  uint64_t given = 0;
  uint64_t maximum = 0;
  // Of the intake of a breaker: how much it may still hold when its phase has ended, until its work is done (a sort's
  // last run, with its index). Reserved in all phases up to then, beside the share of the work. Of a stored input:
  // until its node has run. Of a control node at work: its results, until they are read.
  uint64_t kept_bytes = 0;
};

struct machine {
  uint64_t memory_bytes = 0;
  unsigned threads = 1;
  unsigned num_disks = 1;
  unsigned disk_depth = 8;   // transfers under way per disk; more than 8 blocks make flash disks no faster
  uint64_t block_bytes = 0;  // 0: chosen per sort
  uint64_t batch_bytes = 0;  // 0: chosen
  // Of the memory: what the job's regular expressions may take (expr/pattern_memory.h), of all of its graphs together.
  uint64_t pattern_bytes = 0;
};

struct physical_plan;

// Of a graph inside of a control node, as far as sizes are known beforehand: exec plans anew with those it finds.
struct body_plan {
  int node = -1;
  size_t body = 0;  // index into node::bodies
  std::shared_ptr<const physical_plan> plan;
};

struct physical_plan {
  machine resources;
  uint64_t batch_bytes = 0;  // target of one batch
  std::vector<queue> queues;
  std::vector<pipeline> pipelines;
  std::vector<phase> phases;  // in the order they run
  std::vector<memory_share> shares;
  std::vector<sort_prediction> sorts;
  std::vector<body_plan> bodies;
  uint64_t predicted_input_bytes = 0;
  uint64_t predicted_scratch_written = 0;
  uint64_t predicted_scratch_read = 0;
  uint64_t predicted_output_bytes = 0;
  bool output_as_rows = false;  // some of it is counted as rows in memory: text, or what is compressed
  uint64_t predicted_peak_scratch = 0;
  uint64_t certain_peak_scratch = 0;  // so much at least, if the job gets that far
  uint64_t predicted_peak_memory = 0;
  bool prediction_known = true;
  bool prediction_bounds = true;  // no more than is predicted can come; otherwise it is an estimate

  uint64_t share_of(int node, node_part part, int input = 0) const;
  // What the node's intake keeps (memory_share::kept_bytes).
  uint64_t kept_of(int node, int input = 0) const;
  const queue* queue_into(int node, int input) const;  // null: not by a queue
  uint64_t num_bounded_queues(size_t phase) const;
  // In a phase: a row with its texts.
  uint64_t longest_row(size_t phase) const;
  const sort_prediction* sort_of(int node) const;  // null for nodes that are no breakers
};

// Which part of a node works in a pipeline.
node_part part_in(const graph& g, const pipeline& p, int node);

// Throws nothing; a budget that is too small is a fault that prints what each node wants (exit code 78).
struct plan_result {
  physical_plan plan;
  std::vector<fault> faults;
};
plan_result make_plan(const graph& g, const machine& resources);
// The smallest budget that make_plan accepts.
uint64_t least_memory(const graph& g, const machine& resources);

}  // namespace flowrun::plan
