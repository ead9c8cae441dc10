// A task of a stage as a job of its own, in the language of jobs: the nodes of the stage, with nodes that read what
// earlier stages have written in front of them, and nodes that write what later ones read behind them. Pure.
//
//   exchange.read (run 0) ─┐
//   exchange.read (run 1) ─┼▶ merge ─▶ group ─▶ exchange.write
//   exchange.read (run 2) ─┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/source_pieces.h"
#include "cluster/stages.h"
#include "specs/job.pb.h"

namespace flowrun::cluster {

// What a task reads for an input of its stage.
struct task_input {
  std::vector<std::string> paths;                     // in the order of the stream
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of rows, by path, where the input is merged
};

struct task {
  std::vector<task_input> inputs;                             // by the stage's
  const source_piece* piece = nullptr;                        // of the stage's source; null: it has none
  std::vector<std::string> written;                           // where to, by streams_written()
  std::function<std::string(const plan::node&)> output_path;  // of a sink
};

// Of the rows of a stream.
record::row_type type_of(const plan::graph& g, const stream& s);

// By what the rows of a sink are sorted, as far as is known, over all of its parts, and as far as its output shows: not
// by a column whose values may be missing there, nor by one that tells so.
plan::order order_of_output(const plan::graph& g, const plan::node& sink);

// As jobs name sort keys.
std::vector<std::string> texts_of(const plan::order& o);

specs::JobSpec job_of_task(const plan::graph& g, const stages& all, size_t stage, const task& t);

}  // namespace flowrun::cluster
