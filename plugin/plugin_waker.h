// The waker that a plugin holds, of a part of a node. It outlives the part where somebody still holds it: then it wakes
// nobody.
#pragma once

#include <atomic>

#include "engine/base/mutex.h"
#include "engine/base/waker.h"
#include "plugin/include/flowrun/plugin.h"

struct fr_waker {
 public:
  // From now on wake() wakes `target`; null: nobody.
  void point_to(flowrun::waker* target) {
    flowrun::mutex_lock lock(mutex_);
    target_ = target;
  }
  void wake() noexcept {
    flowrun::mutex_lock lock(mutex_);
    if (target_ != nullptr) target_->wake();
  }
  void retain() { holders_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  ~fr_waker() = default;
  flowrun::mutex mutex_;
  flowrun::waker* target_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  std::atomic<int> holders_{1};
};
