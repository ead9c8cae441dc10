// One thread, and a seed that says what happens next: which task runs, which transfer ends. (FoundationDB's simulation
// and Rust's loom look for races in this way.)
//
// A job whose executors and backend are of one world does nothing by itself: each step of it is drawn from the tasks
// that wait and the transfers that are under way. So a seed is a schedule, and a schedule that fails can be looked at
// as often as one likes. Some seeds favour tasks, some transfers, some the newest and some the oldest of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "engine/exec/task_executor.h"
#include "engine/io/request.h"

namespace flowrun {

class seeded_world {
 public:
  explicit seeded_world(uint64_t seed);
  seeded_world(const seeded_world&) = delete;
  seeded_world& operator=(const seeded_world&) = delete;

  // The world outlives them. For files in memory and others.
  std::unique_ptr<io::backend> make_backend();
  std::unique_ptr<exec::task_executor> make_executor();

  uint64_t num_steps() const { return num_steps_; }
  // Of all that was drawn: the same for the same schedule.
  uint64_t trace() const { return trace_; }

 private:
  class backend;
  class executor;

  // False when nothing waits.
  bool step();
  size_t draw(size_t count);

  std::mt19937_64 random_;
  const unsigned task_share_;  // of a hundred steps, where there is a choice
  const unsigned habit_;       // which of several
  std::vector<std::function<void()>> tasks_;
  std::vector<io::request*> transfers_;
  uint64_t num_steps_ = 0;
  uint64_t trace_ = 0;
};

}  // namespace flowrun
