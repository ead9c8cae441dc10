// A mutex whose use the compiler checks. A field that is FLOWRUN_GUARDED_BY(mutex_) can only be touched where mutex_ is
// held, and a function that FLOWRUN_REQUIRES(mutex_) can only be called there. Clang's thread safety analysis
// (-Wthread-safety, "Thread Safety Analysis" in clang's manual) makes anything else an error. GCC reads the annotations
// as nothing. std::mutex of GNU's library has no annotations, so these are thin wrappers of it.
//
//   mutex mutex_;
//   int waiting_ FLOWRUN_GUARDED_BY(mutex_) = 0;
//
//   mutex_lock lock(mutex_);
//   changed_.wait(lock, [&]() FLOWRUN_REQUIRES(mutex_) { return waiting_ == 0; });
//
// Where a lock can't be seen by the analysis (fields of slots that one mutex of their owner guards, ownership that
// passes from thread to thread), a comment says who may touch what.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <utility>

#if defined(__clang__)
#define FLOWRUN_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FLOWRUN_THREAD_ANNOTATION(x)
#endif

#define FLOWRUN_GUARDED_BY(x) FLOWRUN_THREAD_ANNOTATION(guarded_by(x))
#define FLOWRUN_REQUIRES(...) FLOWRUN_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define FLOWRUN_REQUIRES_SHARED(...) FLOWRUN_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define FLOWRUN_NO_THREAD_SAFETY_ANALYSIS FLOWRUN_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace flowrun {

class FLOWRUN_THREAD_ANNOTATION(capability("mutex")) mutex {
 public:
  mutex() = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() FLOWRUN_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() FLOWRUN_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }

 private:
  friend class mutex_lock;
  std::mutex native_;
};

// Holds the mutex from its construction to its end, but for what lies between unlock() and lock().
class FLOWRUN_THREAD_ANNOTATION(scoped_lockable) mutex_lock {
 public:
  explicit mutex_lock(mutex& m) FLOWRUN_THREAD_ANNOTATION(acquire_capability(m)) : native_(m.native_) {}
  ~mutex_lock() FLOWRUN_THREAD_ANNOTATION(release_capability()) {}
  mutex_lock(const mutex_lock&) = delete;
  mutex_lock& operator=(const mutex_lock&) = delete;
  void lock() FLOWRUN_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() FLOWRUN_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }
  bool owns_lock() const noexcept { return native_.owns_lock(); }

 private:
  friend class condition;
  std::unique_lock<std::mutex> native_;
};

// A mutex that several threads may hold at once to read.
class FLOWRUN_THREAD_ANNOTATION(capability("shared_mutex")) shared_mutex {
 public:
  shared_mutex() = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  void lock() FLOWRUN_THREAD_ANNOTATION(acquire_capability()) { native_.lock(); }
  void unlock() FLOWRUN_THREAD_ANNOTATION(release_capability()) { native_.unlock(); }
  void lock_shared() FLOWRUN_THREAD_ANNOTATION(acquire_shared_capability()) { native_.lock_shared(); }
  void unlock_shared() FLOWRUN_THREAD_ANNOTATION(release_shared_capability()) { native_.unlock_shared(); }

 private:
  std::shared_mutex native_;
};

class FLOWRUN_THREAD_ANNOTATION(scoped_lockable) write_lock {
 public:
  explicit write_lock(shared_mutex& m) FLOWRUN_THREAD_ANNOTATION(acquire_capability(m)) : mutex_(m) { m.lock(); }
  ~write_lock() FLOWRUN_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  write_lock(const write_lock&) = delete;
  write_lock& operator=(const write_lock&) = delete;

 private:
  shared_mutex& mutex_;
};

class FLOWRUN_THREAD_ANNOTATION(scoped_lockable) read_lock {
 public:
  explicit read_lock(shared_mutex& m) FLOWRUN_THREAD_ANNOTATION(acquire_shared_capability(m)) : mutex_(m) {
    m.lock_shared();
  }
  ~read_lock() FLOWRUN_THREAD_ANNOTATION(release_capability()) { mutex_.unlock_shared(); }
  read_lock(const read_lock&) = delete;
  read_lock& operator=(const read_lock&) = delete;

 private:
  shared_mutex& mutex_;
};

// Something that changes under a mutex. The predicates are called with the lock held; say so in the lambda.
class condition {
 public:
  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

  template <typename Predicate>
  void wait(mutex_lock& lock, Predicate holds) {
    native_.wait(lock.native_, std::move(holds));
  }
  // False: the time was over, and it doesn't hold.
  template <typename Time, typename Predicate>
  bool wait_until(mutex_lock& lock, const Time& deadline, Predicate holds) {
    return native_.wait_until(lock.native_, deadline, std::move(holds));
  }

 private:
  std::condition_variable native_;
};

}  // namespace flowrun
