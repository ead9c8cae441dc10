// Where tasks run: a oneTBB arena, or, for tests, the calling thread in a fixed order.
//
// Known traps of oneTBB 2021.8 that this avoids: nothing waits inside an arena (no task_group::wait, no nested
// parallel_for); work is only ever enqueued, and only ordinary threads outside of the arena wait.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace flowrun::exec {

class task_executor {
 public:
  virtual ~task_executor() = default;
  // Queues `task` to run once, soon, on some thread; from any thread. Tasks must not throw and must not wait for each
  // other.
  virtual void post(std::function<void()> task) = 0;
  // Returns when `finished()` holds or the time is up: true when it holds. It is looked at after notify() and after
  // tasks. One thread at a time, never from a task.
  virtual bool wait(const std::function<bool()>& finished, std::chrono::milliseconds at_most) = 0;
  // Something that wait()'s condition depends on has changed; from any thread.
  virtual void notify() = 0;
  // Returns when no task is queued or running. More may be posted while it waits; it waits for these too.
  virtual void drain() = 0;
};

// `threads` workers of an arena of its own.
std::unique_ptr<task_executor> make_arena_executor(unsigned threads);
// Runs tasks on the thread that waits, first come first served: the same order on every run, as far as I/O allows.
std::unique_ptr<task_executor> make_plain_executor();

}  // namespace flowrun::exec
