// What the executor asks of an operator: three small interfaces, after DuckDB's source / operator / sink and with the
// readiness of Rust's futures. An operator that can't proceed says so, leaves a waker with the thing that it waits for,
// and gives its thread back (base/outcome.h); it never sleeps on a disk or a queue.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/expr/run_limits.h"
#include "engine/record/batch.h"
#include "engine/resume/source_position.h"

namespace flowrun::exec {

// Where a step leaves its batches: (port, batch), in order. Empty batches are dropped.
//
// A step makes about a batch. A stage whose output can be larger than its input looks whether it is full(), and where
// it is, says with leave() how far it has come and returns. What it has made goes through the stages behind it, and
// then the rows that it left come again.
class output {
 public:
  explicit output(const expr::run_limits& limits = {}) : limits_(limits) {}
  // For a stage whose input is `in`, of whose first row `within` is done. What it makes may share the heap of `in`.
  output(const expr::run_limits& limits, const record::batch& in, uint64_t within)
      : limits_(limits), input_heap_(in.heap), within_(within) {}

  void emit(record::batch b, unsigned port = 0) {
    if (b.num_rows == 0) return;
    const uint64_t num_bytes = b.num_rows * b.row_bytes + (b.heap == input_heap_ ? 0 : b.heap_bytes);
    limits_.num_bytes -= std::min(limits_.num_bytes, num_bytes);
    items_.emplace_back(port, std::move(b));
  }
  void emit(std::vector<record::batch>& batches, unsigned port = 0) {
    for (record::batch& b : batches) emit(std::move(b), port);
    batches.clear();
  }
  std::vector<std::pair<unsigned, record::batch>>& items() { return items_; }

  // What it may still make.
  const expr::run_limits& limits() const { return limits_; }
  uint64_t room() const { return limits_.num_bytes; }
  bool full() const { return limits_.num_bytes == 0; }
  // The rows of the input from `row` on come again. `within` says how much of the first of them is done, in a unit of
  // the stage's own: it finds it here when the rows come again.
  void leave(size_t row, uint64_t within = 0) {
    rows_taken_ = row;
    within_ = within;
    leaves_rows_ = true;
  }
  uint64_t within() const { return within_; }
  bool leaves_rows() const { return leaves_rows_; }
  size_t rows_taken() const { return rows_taken_; }
  const std::byte* input_heap() const { return input_heap_; }

 private:
  std::vector<std::pair<unsigned, record::batch>> items_;
  expr::run_limits limits_;
  const std::byte* input_heap_ = nullptr;
  uint64_t within_ = 0;
  size_t rows_taken_ = 0;
  bool leaves_rows_ = false;
};

// Heads a pipeline. One call at a time, from changing threads. Destruction waits for the transfers it started.
class source {
 public:
  virtual ~source() = default;
  // Leaves zero or more batches in `out`. blocked: `w` will be woken. done: never called again. Returns after about a
  // batch or a millisecond of work. Throws flowrun::error: the job ends.
  virtual outcome pull(output& out, waker& w) = 0;
  // Where the next pull() begins, in terms of its own: one that is built with build_context::begin_at gives from there
  // on what this one would. Empty: it can't. Between two pulls.
  virtual resume::source_position position() const { return {}; }
};

// A stage without state between batches: called from several threads at once.
class stateless_stage {
 public:
  virtual ~stateless_stage() = default;
  virtual void apply(const record::batch& in, output& out) const = 0;
};

// A stage that sees the batches one after another, in the order of the stream. One call at a time, from changing
// threads. Sinks and the sink half of a breaker are ordered stages that emit nothing.
class ordered_stage {
 public:
  virtual ~ordered_stage() = default;
  // ready: `in` was consumed, but for what out.leave() says. blocked: it was not, or not all of it: the same `in` comes
  // again after the wake. May change `in` to what is left of it, and may emit before it blocks. Never done.
  virtual outcome push(record::batch& in, output& out, waker& w) = 0;
  // After the last batch: called until done. May emit, about a batch at a time.
  virtual outcome finish(output& out, waker& w) {
    (void)out;
    (void)w;
    return outcome::done();
  }
  // What is pushed from here on comes from where the pipeline's source was then. Only in pipelines that can be gone on
  // with (pipeline_tree::notes_positions).
  virtual void note_position(const resume::pipeline_position& from) { (void)from; }

  // --- of a stage in front of the end of such a pipeline ---

  // Whether what it knows of the rows that it has taken can be told.
  virtual bool has_state() const { return false; }
  // Before the first push, if all stages in front of the end have one: from here on it holds nothing back of what it has
  // taken but what state() says.
  virtual void keep_state() {}
  // What it knows of the rows that it has taken, for another process. Between two batches; what is pushed from here on
  // comes from where the source was then.
  virtual std::string state(const resume::source_position& from) const {
    (void)from;
    return {};
  }
  // After keep_state(): it has taken the rows before. `state` is of the same stage of the same job.
  virtual void begin_with(const std::string& state) { (void)state; }
};

// One input of a meeting node. Called by the node's source only.
class input_stream {
 public:
  virtual ~input_stream() = default;
  // ready: `front` points to the next batch, valid until pop(). blocked: `w` will be woken. done: the stream has ended.
  virtual outcome peek(const record::batch*& front, waker& w) = 0;
  virtual void pop() = 0;
};

}  // namespace flowrun::exec
