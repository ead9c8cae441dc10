#include "engine/exec/task_executor.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <deque>
#include <exception>

#include "engine/base/mutex.h"

namespace flowrun::exec {

namespace {

class arena_executor final : public task_executor {
 public:
  explicit arena_executor(unsigned threads)
      // One more than the workers: oneTBB counts the outside thread, which never works here.
      : limit_(tbb::global_control::max_allowed_parallelism, threads + 1), arena_(static_cast<int>(threads), 0) {}
  ~arena_executor() override { drain(); }

  void post(std::function<void()> task) override {
    {
      mutex_lock lock(mutex_);
      tasks_.push_back(std::move(task));
      ++outstanding_;
    }
    tell_workers();
  }

  bool wait(const std::function<bool()>& finished, std::chrono::milliseconds at_most) override {
    mutex_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    for (;;) {
      const uint64_t seen = notifications_;
      lock.unlock();
      if (finished()) return true;
      lock.lock();
      if (!changed_.wait_until(lock, deadline, [&]() FLOWRUN_REQUIRES(mutex_) { return notifications_ != seen; })) {
        lock.unlock();
        return finished();
      }
    }
  }

  void notify() override {
    mutex_lock lock(mutex_);
    ++notifications_;
    changed_.notify_all();
  }

  void drain() override {
    mutex_lock lock(mutex_);
    changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return outstanding_ == 0; });
  }

 private:
  // oneTBB starts its threads here, and where the system has none to give, it throws and keeps its locks: whatever is
  // taken down after that waits for ever. So the process ends at this place, with the cause (runner/last_words.h).
  void tell_workers() {
    try {
      arena_.enqueue([this] { run_first(); });
    } catch (...) {
      std::terminate();
    }
  }

  // Tasks go from thread to thread under our own mutex; oneTBB is only told how many there are.
  void run_first() {
    std::function<void()> task;
    {
      mutex_lock lock(mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    task = nullptr;  // what it holds dies before drain() returns
    mutex_lock lock(mutex_);
    if (--outstanding_ == 0) changed_.notify_all();  // under the lock: drain() may end this object's life
  }

  mutex mutex_;
  condition changed_;
  std::deque<std::function<void()>> tasks_ FLOWRUN_GUARDED_BY(mutex_);
  uint64_t outstanding_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // queued or running
  uint64_t notifications_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

class plain_executor final : public task_executor {
 public:
  void post(std::function<void()> task) override {
    mutex_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }

  bool wait(const std::function<bool()>& finished, std::chrono::milliseconds at_most) override {
    const auto deadline = std::chrono::steady_clock::now() + at_most;
    for (;;) {
      mutex_lock lock(mutex_);
      const uint64_t seen = notifications_;  // before the look: what is told after it wakes
      lock.unlock();
      if (finished()) return true;
      lock.lock();
      if (!changed_.wait_until(lock, deadline,
                               [&]() FLOWRUN_REQUIRES(mutex_) { return !tasks_.empty() || notifications_ != seen; }))
        return false;
      if (tasks_.empty()) continue;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      if (std::chrono::steady_clock::now() >= deadline) return finished();
    }
  }

  void notify() override {
    mutex_lock lock(mutex_);
    ++notifications_;
    changed_.notify_all();
  }

  void drain() override {
    for (;;) {
      std::function<void()> task;
      {
        mutex_lock lock(mutex_);
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

 private:
  mutex mutex_;
  condition changed_;
  std::deque<std::function<void()>> tasks_ FLOWRUN_GUARDED_BY(mutex_);
  uint64_t notifications_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace

std::unique_ptr<task_executor> make_arena_executor(unsigned threads) {
  return std::make_unique<arena_executor>(threads);
}
std::unique_ptr<task_executor> make_plain_executor() { return std::make_unique<plain_executor>(); }

}  // namespace flowrun::exec
