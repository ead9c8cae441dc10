// How something that was blocked learns that it may go on.
//
// An object that can't proceed (a source without input, a sink without a free buffer) hands its waker to the thing it
// waits for and returns. The other side calls wake() once its state has changed. A wake may be spurious; a lost one
// would hang the job, so the pattern is always: look at the state and leave the waker behind under one lock
// (outcome.h).
#pragma once

#include "engine/base/mutex.h"

namespace flowrun {

class waker {
 public:
  // Called from any thread, also from I/O completion threads, possibly while the caller holds its own lock: must be
  // quick, must not block, and must not call back into the caller.
  virtual void wake() noexcept = 0;

 protected:
  ~waker() = default;
};

// Lets an ordinary thread wait: for tests, and for code outside the executor.
class blocking_waker final : public waker {
 public:
  void wake() noexcept override {
    // Notified under the lock: the waiting thread may destroy this object as soon as it sees the flag.
    mutex_lock lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }
  // Returns after the next wake (or at once after one that came since the last wait).
  void wait() {
    mutex_lock lock(mutex_);
    condition_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return woken_; });
    woken_ = false;
  }

 private:
  mutex mutex_;
  condition condition_;
  bool woken_ FLOWRUN_GUARDED_BY(mutex_) = false;
};

}  // namespace flowrun
