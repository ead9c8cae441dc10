// Work that goes on beside its owner, in steps, one piece after another: sorting or writing one half of the run buffer
// while the other half fills (Asynchronous sorting, figure 2).
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <utility>

#include "engine/base/mutex.h"
#include "engine/base/outcome.h"
#include "engine/base/resumable.h"

namespace flowrun {

class background_work final : public resumable {
 public:
  explicit background_work(task_poster post) : resumable(std::move(post)) {}
  ~background_work() { shutdown(); }

  // Called on the poster's threads until it is done. blocked: it left the waker where it waits. May throw.
  using step = std::function<outcome(waker&)>;

  // Begins once all that was started before has finished. Once something threw, nothing is begun any more.
  void start(step work) {
    {
      mutex_lock lock(mutex_);
      if (error_) return;
      steps_.push_back(std::move(work));
    }
    wake();
  }

  // ready: at most so much of what was started is unfinished; else `w` will be woken when one more has finished, once:
  // only the newest `w` is. What blocks it is what the work waits for; while the work computes, memory: others hold it.
  // Rethrows what the work threw.
  outcome at_most(size_t num_unfinished, waker* w) {
    mutex_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    if (steps_.size() <= num_unfinished) return outcome::ready();
    waiter_ = w;
    return outcome::blocked(waits_for_);
  }
  outcome idle(waker* w) { return at_most(0, w); }

 private:
  void resume() noexcept override {
    step* current = nullptr;
    {
      mutex_lock lock(mutex_);
      if (steps_.empty()) return;  // a late wake
      current = &steps_.front();   // stays where it is when others are queued
      waits_for_ = blocked_on::memory;
    }
    std::exception_ptr thrown;
    outcome reached = outcome::done();
    try {
      reached = (*current)(*this);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (reached.is_blocked()) {
      mutex_lock lock(mutex_);
      waits_for_ = reached.why();
    }
    if (reached.is_ready()) wake();
    if (!reached.is_done()) return;
    bool more = false;
    {
      mutex_lock lock(mutex_);
      waits_for_ = blocked_on::memory;
      steps_.pop_front();
      if (thrown) {
        error_ = thrown;
        steps_.clear();
      }
      more = !steps_.empty();
      if (waiter_ != nullptr) std::exchange(waiter_, nullptr)->wake();
    }
    if (more) wake();  // not at once: shutdown() comes between
  }

  mutex mutex_;
  std::deque<step> steps_ FLOWRUN_GUARDED_BY(mutex_);  // unfinished; the first is running
  std::exception_ptr error_ FLOWRUN_GUARDED_BY(mutex_);
  waker* waiter_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  blocked_on waits_for_ FLOWRUN_GUARDED_BY(mutex_) = blocked_on::memory;
};

}  // namespace flowrun
