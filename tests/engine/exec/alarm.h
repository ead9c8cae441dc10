// Wakes wakers from threads of its own, a little later, in another order, and now and then twice.
#pragma once

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "engine/base/waker.h"

namespace flowrun::exec {

class alarm {
 public:
  explicit alarm(uint64_t seed) : random_(seed) {
    for (std::thread& t : threads_) t = std::thread([this] { work(); });
  }
  ~alarm() { stop(); }
  // No wakes after this.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      sleepers_.clear();
    }
    changed_.notify_all();
    for (std::thread& t : threads_)
      if (t.joinable()) t.join();
  }
  void wake_later(waker& w) {
    std::lock_guard lock(mutex_);
    sleepers_.push_back(&w);
    if (random_() % 4 == 0) sleepers_.push_back(&w);
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return stopping_ || !sleepers_.empty(); });
      if (stopping_) return;
      std::swap(sleepers_[random_() % sleepers_.size()], sleepers_.back());
      waker* const next = sleepers_.back();
      sleepers_.pop_back();
      const uint64_t yields = random_() % 2;
      lock.unlock();
      for (uint64_t i = 0; i < yields; ++i) std::this_thread::yield();
      next->wake();
      lock.lock();
    }
  }

  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  std::mt19937_64 random_;
  std::vector<waker*> sleepers_;
  bool stopping_ = false;
  std::thread threads_[2];
};

}  // namespace flowrun::exec
