// Wakers that say what happened to them. To wait for a wake, engine/base/waker.h has blocking_waker, and task_queue.h
// one that carries out tasks meanwhile.
#pragma once

#include "engine/base/mutex.h"
#include "engine/base/waker.h"

namespace flowrun {

// For a caller that tries again without being told.
class no_waker final : public waker {
 public:
  void wake() noexcept override {}
};

// Counts its wakes, which may come from any thread.
class counting_waker final : public waker {
 public:
  void wake() noexcept override {
    // Notified under the lock: the waiting thread may destroy this object as soon as it sees the number.
    mutex_lock lock(mutex_);
    ++num_wakes_;
    changed_.notify_all();
  }
  int num_wakes() const {
    mutex_lock lock(mutex_);
    return num_wakes_;
  }
  void wait_for(int wanted) {
    mutex_lock lock(mutex_);
    changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return num_wakes_ >= wanted; });
  }

 private:
  mutable mutex mutex_;
  condition changed_;
  int num_wakes_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun
