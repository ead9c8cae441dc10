// Runs one pipeline as a job does: until it has finished, failed or was stopped, and then takes it down.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/exec/pipeline.h"
#include "tests/engine/exec/alarm.h"

namespace flowrun::exec {

// What the batches of the tests hold.
using numbers = std::vector<uint64_t>;

// A batch of u64 rows with a buffer of its own; `alive` (may be null) counts the buffers there are.
record::batch batch_of(const numbers& values, std::atomic<int>* alive = nullptr);
numbers numbers_of(const record::batch& b);

// How a pipeline is run. 0 threads: the plain executor.
struct pipeline_setting {
  unsigned threads = 0;
  unsigned max_workers = 1;
  unsigned max_tickets = 3;
};
// The plain executor, and arenas from one thread to eight.
std::vector<pipeline_setting> pipeline_settings();

class pipeline_rig {
 public:
  explicit pipeline_rig(const pipeline_setting& setting, uint64_t seed = 1);
  ~pipeline_rig();

  task_executor& executor() { return *executor_; }
  alarm& clock() { return clock_; }
  // Sets the stop flag; from any thread.
  void end_now();
  pipeline& running() { return *pipeline_; }

  void start(pipeline_tree tree);
  // Until the end; false when nothing has moved for so long that a wake must have got lost.
  bool wait();
  // Until no task is left to run.
  void settle() { executor_->drain(); }
  // As a job does it.
  void take_down();
  // All of these.
  void run(pipeline_tree tree);

  int num_finished() const { return finished_; }
  int num_failed() const { return failed_; }
  std::string problem();

 private:
  const pipeline_setting setting_;
  std::unique_ptr<task_executor> executor_;
  std::unique_ptr<pipeline> pipeline_;
  alarm clock_;  // goes before the pipeline, whose wakers it holds
  std::atomic<bool> stop_{false};
  std::atomic<int> finished_{0};
  std::atomic<int> failed_{0};
  std::mutex mutex_;
  std::exception_ptr problem_;
};

// Stages made of functions.
class function_source final : public source {
 public:
  using pull_function = std::function<outcome(output&, waker&)>;
  explicit function_source(pull_function pull) : pull_(std::move(pull)) {}
  outcome pull(output& out, waker& w) override { return pull_(out, w); }

 private:
  pull_function pull_;
};

class function_stage final : public stateless_stage {
 public:
  using apply_function = std::function<void(const record::batch&, output&)>;
  explicit function_stage(apply_function apply) : apply_(std::move(apply)) {}
  void apply(const record::batch& in, output& out) const override { apply_(in, out); }

 private:
  apply_function apply_;
};

class function_sink final : public ordered_stage {
 public:
  using push_function = std::function<outcome(record::batch&, output&, waker&)>;
  using finish_function = std::function<outcome(output&, waker&)>;
  explicit function_sink(push_function push, finish_function finish = {})
      : push_(std::move(push)), finish_(std::move(finish)) {}
  outcome push(record::batch& in, output& out, waker& w) override { return push_(in, out, w); }
  outcome finish(output& out, waker& w) override { return finish_ ? finish_(out, w) : outcome::done(); }

 private:
  push_function push_;
  finish_function finish_;
};

// `work` on at most `most` rows of `in`; the rest is left.
template <class Work>
void take_rows(const record::batch& in, output& out, size_t most, Work work) {
  const size_t count = std::min(most, in.num_rows);
  work(in.slice(0, count), out);
  if (count < in.num_rows) out.leave(count);
}

// Batches of one number each: 0, 1, …, count - 1.
std::unique_ptr<source> counting_source(uint64_t count, std::atomic<int>* alive = nullptr);

// head ─▶ stages in a chain.
pipeline_tree chain(std::unique_ptr<source> head, std::vector<stage> stages);

template <class... Stages>
std::vector<stage> stages_of(Stages... stages) {
  std::vector<stage> out;
  (out.push_back(std::move(stages)), ...);
  return out;
}

}  // namespace flowrun::exec
