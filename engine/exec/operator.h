// What the executor asks of an operator: three small interfaces, after DuckDB's source / operator / sink and with the
// readiness of Rust's futures. An operator that can't proceed says so, leaves a waker with whatever it waits for and
// gives its thread back (base/outcome.h); it never sleeps on a disk or a queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/record/batch.h"

namespace flowrun::exec {

// Where a step leaves its batches: (port, batch), in order. Empty batches are dropped.
class output {
 public:
  void emit(record::batch b, unsigned port = 0) {
    if (b.num_rows > 0) items_.emplace_back(port, std::move(b));
  }
  void emit(std::vector<record::batch>& batches, unsigned port = 0) {
    for (record::batch& b : batches) emit(std::move(b), port);
    batches.clear();
  }
  std::vector<std::pair<unsigned, record::batch>>& items() { return items_; }

 private:
  std::vector<std::pair<unsigned, record::batch>> items_;
};

// Heads a pipeline. One call at a time, from changing threads. Destruction waits for the transfers it started.
class source {
 public:
  virtual ~source() = default;
  // Leaves zero or more batches in `out`. blocked: `w` will be woken. done: never called again. Should return after
  // about a batch or a millisecond of work. Throws flowrun::error: the job ends.
  virtual outcome pull(output& out, waker& w) = 0;
};

// A stage without state between batches: called from several threads at once.
class stateless_stage {
 public:
  virtual ~stateless_stage() = default;
  // The most rows that one call gets. A stage that makes many rows from each says so: what it makes at a time stays
  // about a batch, and a job can stop in between.
  virtual size_t rows_at_a_time() const { return std::numeric_limits<size_t>::max(); }
  virtual void apply(const record::batch& in, output& out) const = 0;
};

// A stage that sees the batches one after another, in the order of the stream. One call at a time, from changing
// threads. Sinks and the sink half of a breaker are ordered stages that emit nothing.
class ordered_stage {
 public:
  virtual ~ordered_stage() = default;
  // As of a stateless stage.
  virtual size_t rows_at_a_time() const { return std::numeric_limits<size_t>::max(); }
  // ready: `in` was consumed. blocked: it was not, or not all of it: the same `in` comes again after the wake. May
  // change `in` to what is left of it, and may emit before it blocks. Never done.
  virtual outcome push(record::batch& in, output& out, waker& w) = 0;
  // After the last batch: called until done. May emit.
  virtual outcome finish(output& out, waker& w) {
    (void)out;
    (void)w;
    return outcome::done();
  }
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
