// A piece of work that runs in steps, on threads that it doesn't own, and sleeps in between: wake() queues it, a thread
// runs one step, and if it was woken meanwhile it is queued again. So at most one thread is ever inside, and no wake is
// lost.
//
//          wake             a thread picks it up            step returned
//   idle ───────▶ queued ───────────────────────▶ running ───────────────▶ idle
//                                                  │ wake ▶ runs once more
//
// The state is shared with the tasks that are queued: a task that comes too late finds the object dead and does
// nothing. So the end never waits for a task that has not begun.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/base/mutex.h"
#include "engine/base/waker.h"

namespace flowrun {

// Queues a function to be run once on some thread, soon. Thread-safe.
using task_poster = std::function<void(std::function<void()>)>;

class resumable : public waker {
 public:
  explicit resumable(task_poster post) : core_(std::make_shared<core>(*this, std::move(post))) {}
  resumable(const resumable&) = delete;
  resumable& operator=(const resumable&) = delete;

  void wake() noexcept final {
    const std::shared_ptr<core> c = core_;  // the step may run, and this object die, before post() has returned
    {
      mutex_lock lock(c->mutex);
      if (c->now == state::running) c->again = true;
      if (c->now != state::idle) return;
      c->now = state::queued;
    }
    c->post([c] { run(*c); });
  }

  // Returns once no thread is inside; from then on wakes are ignored. Called by the destructor of the derived class,
  // never from inside a step. May be called again.
  void shutdown() {
    mutex_lock lock(core_->mutex);
    core_->stopping = true;
    core_->changed.wait(lock, [&]() FLOWRUN_REQUIRES(core_->mutex) { return core_->now != state::running; });
    core_->now = state::dead;
  }

 protected:
  ~resumable() = default;
  // One step: goes on until it has to wait (having left this waker somewhere) or is finished. Must not throw.
  virtual void resume() noexcept = 0;

 private:
  enum class state { idle, queued, running, dead };

  struct core {
    core(resumable& o, task_poster p) : owner(o), post(std::move(p)) {}
    resumable& owner;  // alive while running
    const task_poster post;
    flowrun::mutex mutex;
    condition changed;
    state now FLOWRUN_GUARDED_BY(mutex) = state::idle;
    bool again FLOWRUN_GUARDED_BY(mutex) = false;
    bool stopping FLOWRUN_GUARDED_BY(mutex) = false;
  };

  static void run(core& c) {
    mutex_lock lock(c.mutex);
    if (c.now != state::queued) return;  // dead
    c.now = state::running;
    do {
      c.again = false;
      lock.unlock();
      c.owner.resume();
      lock.lock();
    } while (c.again && !c.stopping);
    c.now = state::idle;
    c.changed.notify_all();
  }

  const std::shared_ptr<core> core_;
};

}  // namespace flowrun
