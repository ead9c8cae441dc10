// Work that goes on beside its owner, in steps: sorting and writing one half of the run buffer while the other half
// fills (papers/000, figure 2).
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "engine/base/resumable.h"

namespace flowrun::sort {

class background_work final : public resumable {
 public:
  explicit background_work(task_poster post) : resumable(std::move(post)) {}
  ~background_work() { shutdown(); }

  // Called on the poster's threads until it returns true. false: it left the waker where it waits. May throw.
  using step = std::function<bool(waker&)>;

  // Only while idle.
  void start(step work) {
    {
      std::lock_guard lock(mutex_);
      step_ = std::move(work);
      busy_ = true;
    }
    wake();
  }

  // True when nothing is running; else `w` will be woken when that has changed. Rethrows what the work threw.
  bool idle(waker* w) {
    std::lock_guard lock(mutex_);
    if (busy_) {
      waiter_ = w;
      return false;
    }
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  void resume() noexcept override {
    {
      std::lock_guard lock(mutex_);
      if (!busy_) return;  // a late wake
    }
    std::exception_ptr thrown;
    bool finished = false;
    try {
      finished = step_(*this);
    } catch (...) {
      thrown = std::current_exception();
      finished = true;
    }
    if (!finished) return;
    std::lock_guard lock(mutex_);
    busy_ = false;
    if (thrown) error_ = thrown;
    if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
  }

  std::mutex mutex_;
  step step_;  // written while idle only
  bool busy_ = false;
  std::exception_ptr error_;
  waker* waiter_ = nullptr;
};

}  // namespace flowrun::sort
