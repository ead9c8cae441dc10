// A piece of work that runs in steps on somebody else's threads and sleeps in between: wake() queues it, a thread runs one
// step, and if it was woken meanwhile it is queued again. So at most one thread is ever inside, and no wake is lost.
//
//          wake             a thread picks it up            step returned
//   idle ───────▶ queued ───────────────────────▶ running ───────────────▶ idle
//                                                  │ wake ▶ runs once more
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "engine/base/waker.h"

namespace flowrun {

// Queues a function to be run once on some thread, soon. Thread-safe.
using task_poster = std::function<void(std::function<void()>)>;

class resumable : public waker {
 public:
  explicit resumable(task_poster post) : post_(std::move(post)) {}
  resumable(const resumable&) = delete;
  resumable& operator=(const resumable&) = delete;

  void wake() noexcept final {
    {
      std::lock_guard lock(mutex_);
      if (state_ == state::running) again_ = true;
      if (state_ != state::idle) return;
      state_ = state::queued;
    }
    post_([this] { run(); });
  }

  // Returns once no thread is inside; from then on wakes are ignored. Called by the destructor of the derived class, never
  // from inside a step. The threads of the poster must still be running.
  void shutdown() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.wait(lock, [&] { return state_ == state::idle || state_ == state::dead; });
    state_ = state::dead;
  }

 protected:
  ~resumable() = default;
  // One step: goes on until it has to wait (having left this waker somewhere) or is finished. Must not throw.
  virtual void resume() noexcept = 0;

 private:
  enum class state { idle, queued, running, dead };

  void run() {
    for (;;) {
      {
        std::lock_guard lock(mutex_);
        state_ = state::running;
        again_ = false;
        if (stopping_) {
          state_ = state::idle;
          changed_.notify_all();  // under the lock: shutdown() may end this object's life once it has it
          return;
        }
      }
      resume();
      std::lock_guard lock(mutex_);
      if (!again_ || stopping_) {
        state_ = state::idle;
        if (stopping_) changed_.notify_all();
        return;
      }
    }
  }

  const task_poster post_;
  std::mutex mutex_;
  std::condition_variable changed_;
  state state_ = state::idle;  // guarded by mutex_, as are the next two
  bool again_ = false;
  bool stopping_ = false;
};

}  // namespace flowrun
