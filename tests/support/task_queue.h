// A poster for tests: tasks are carried out by threads of its own, or by the thread that waits for them, which makes a
// test deterministic.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/resumable.h"

namespace flowrun {

class task_queue {
 public:
  explicit task_queue(unsigned num_threads) {
    for (unsigned i = 0; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~task_queue() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  task_poster poster() {
    return [this](std::function<void()> task) {
      {
        std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        ++num_posted_;
      }
      changed_.notify_all();
    };
  }

  // What a test waits with.
  class sleeper final : public waker {
   public:
    explicit sleeper(task_queue& queue) : queue_(queue) {}
    void wake() noexcept override {
      std::lock_guard lock(queue_.mutex_);
      woken_ = true;
      queue_.changed_.notify_all();
    }
    // Until woken; without threads carries out tasks meanwhile.
    void wait() {
      std::unique_lock lock(queue_.mutex_);
      while (!woken_) {
        if (queue_.threads_.empty() && !queue_.tasks_.empty()) {
          queue_.run_first(lock);
        } else {
          queue_.changed_.wait(lock);
        }
      }
      woken_ = false;
    }

   private:
    task_queue& queue_;
    bool woken_ = false;
  };

  // Without threads: carries out what is queued.
  void drain() {
    std::unique_lock lock(mutex_);
    while (!tasks_.empty()) run_first(lock);
  }
  size_t num_posted() {
    std::lock_guard lock(mutex_);
    return num_posted_;
  }

 private:
  void run_first(std::unique_lock<std::mutex>& lock) {
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      run_first(lock);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  size_t num_posted_ = 0;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace flowrun
