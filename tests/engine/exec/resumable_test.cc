// engine/base/resumable.h on the executors that it meets in a job.
#include "engine/base/resumable.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "engine/exec/task_executor.h"

namespace flowrun::exec {
namespace {

class counter final : public resumable {
 public:
  explicit counter(task_executor& executor, std::atomic<uint64_t>& wanted, std::atomic<uint64_t>& seen)
      : resumable([&executor](std::function<void()> task) { executor.post(std::move(task)); }),
        wanted_(wanted),
        seen_(seen) {}
  ~counter() { shutdown(); }

 private:
  void resume() noexcept override {
    EXPECT_EQ(inside_.fetch_add(1), 0);
    seen_ = wanted_.load();
    inside_.fetch_sub(1);
  }
  std::atomic<uint64_t>& wanted_;
  std::atomic<uint64_t>& seen_;
  std::atomic<int> inside_{0};
};

TEST(resumable, no_wake_is_lost) {
  for (unsigned threads : {0U, 1U, 4U}) {
    const auto executor = threads == 0 ? make_plain_executor() : make_arena_executor(threads);
    std::atomic<uint64_t> wanted{0};
    std::atomic<uint64_t> seen{0};
    counter c(*executor, wanted, seen);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::thread> wakers;
      for (int t = 0; t < 3; ++t)
        wakers.emplace_back([&] {
          for (int i = 0; i < 100; ++i) {
            ++wanted;
            c.wake();
          }
        });
      for (std::thread& t : wakers) t.join();
      executor->drain();
      EXPECT_EQ(seen, wanted);
    }
  }
}

// Wakes come while the object ends; those that are late find it dead.
TEST(resumable, its_end_and_wakes_may_meet) {
  for (int round = 0; round < 500; ++round) {
    const auto executor = round % 2 == 0 ? make_arena_executor(2) : make_plain_executor();
    std::atomic<uint64_t> wanted{0};
    std::atomic<uint64_t> seen{0};
    auto c = std::make_unique<counter>(*executor, wanted, seen);
    std::thread waking([&] {
      for (int i = 0; i < 20; ++i) c->wake();
    });
    if (round % 3 == 0) std::this_thread::yield();
    c->shutdown();
    waking.join();
    c.reset();
    const uint64_t before = seen;
    executor->drain();
    EXPECT_EQ(seen, before);
  }
}

// On the plain executor no other thread runs the queued task while its owner is being destroyed.
TEST(resumable, ends_with_a_step_queued) {
  const auto executor = make_plain_executor();
  std::atomic<uint64_t> wanted{1};
  std::atomic<uint64_t> seen{0};
  {
    counter c(*executor, wanted, seen);
    c.wake();
  }
  executor->drain();
  EXPECT_EQ(seen, 0U);
}

class self_waker final : public resumable {
 public:
  self_waker(task_executor& executor, int steps)
      : resumable([&executor](std::function<void()> task) { executor.post(std::move(task)); }), left(steps) {}
  ~self_waker() { shutdown(); }
  int left;

 private:
  void resume() noexcept override {
    if (--left > 0) wake();
  }
};

TEST(resumable, a_step_may_ask_for_the_next_one) {
  const auto executor = make_arena_executor(2);
  self_waker w(*executor, 1000);
  w.wake();
  executor->drain();
  EXPECT_EQ(w.left, 0);
}

}  // namespace
}  // namespace flowrun::exec
