// The wakers of the two ends of a queue. Either end may wait for the same transfer, and a transfer knows one waker
// only: this one, which wakes both. Its mutex is the innermost: transfers wake with their own locks held.
//
//   set_producer(&w) ─▶ look at the state, hand this to the transfer ─▶ blocked: return, `w` will be woken
//                                                                    ─▶ else:    set_producer(nullptr)
#pragma once

#include <utility>

#include "engine/base/mutex.h"
#include "engine/base/waker.h"

namespace flowrun::container {

// Thread-safe.
class sleepers final : public waker {
 public:
  void wake() noexcept override {
    mutex_lock lock(mutex_);
    wake(producer_);
    wake(consumer_);
  }
  void wake_consumer() {
    mutex_lock lock(mutex_);
    wake(consumer_);
  }
  // Before the state is looked at, so that no change is missed; null once there is nothing to wait for.
  void set_producer(waker* w) {
    mutex_lock lock(mutex_);
    producer_ = w;
  }
  void set_consumer(waker* w) {
    mutex_lock lock(mutex_);
    consumer_ = w;
  }

 private:
  static void wake(waker*& sleeper) {
    if (sleeper != nullptr) std::exchange(sleeper, nullptr)->wake();
  }
  mutex mutex_;
  waker* producer_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  waker* consumer_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace flowrun::container
