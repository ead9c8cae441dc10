#include "engine/exec/task_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace flowrun::exec {
namespace {

constexpr std::chrono::milliseconds long_time{60'000};

// One after another: a process has one set of oneTBB workers, and the smallest limit of all executors alive holds.
void for_each_executor(const std::function<void(task_executor&)>& act) {
  act(*make_plain_executor());
  for (unsigned threads : {1U, 2U, 8U}) act(*make_arena_executor(threads));
}

TEST(task_executor, drain_waits_for_tasks_that_tasks_post) {
  for_each_executor([](task_executor& executor) {
    std::atomic<int> ran{0};
    std::function<void(int)> spread = [&](int depth) {
      ++ran;
      if (depth == 0) return;
      for (int i = 0; i < 3; ++i) executor.post([&spread, depth] { spread(depth - 1); });
    };
    executor.post([&] { spread(5); });
    executor.drain();
    EXPECT_EQ(ran, 1 + 3 + 9 + 27 + 81 + 243);
  });
}

TEST(task_executor, takes_tasks_from_many_threads) {
  for_each_executor([](task_executor& executor) {
    std::atomic<int> ran{0};
    std::vector<std::thread> posters;
    for (int t = 0; t < 4; ++t)
      posters.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          executor.post([&] {
            if (++ran == 2000) executor.notify();
          });
        }
      });
    EXPECT_TRUE(executor.wait([&] { return ran == 2000; }, long_time));
    for (std::thread& t : posters) t.join();
    executor.drain();
    EXPECT_EQ(ran, 2000);
  });
}

TEST(task_executor, wait_sees_a_condition_that_holds_already) {
  for_each_executor([](task_executor& e) { EXPECT_TRUE(e.wait([] { return true; }, std::chrono::milliseconds(0))); });
}

TEST(task_executor, wait_returns_when_the_time_is_up) {
  for_each_executor([](task_executor& e) { EXPECT_FALSE(e.wait([] { return false; }, std::chrono::milliseconds(1))); });
}

TEST(task_executor, wait_hears_of_notifications_from_outside) {
  for_each_executor([](task_executor& executor) {
    for (int round = 0; round < 100; ++round) {
      std::atomic<bool> set{false};
      std::thread other([&] {
        set = true;
        executor.notify();
      });
      EXPECT_TRUE(executor.wait([&] { return set.load(); }, long_time));
      other.join();
    }
  });
}

TEST(task_executor, what_a_task_holds_is_gone_after_drain) {
  for_each_executor([](task_executor& executor) {
    for (int round = 0; round < 200; ++round) {
      auto held = std::make_shared<int>(round);
      executor.post([held] {});
      executor.drain();
      EXPECT_EQ(held.use_count(), 1);
    }
  });
}

TEST(task_executor, an_executor_may_end_right_after_its_last_task) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    for (unsigned threads : {1U, 4U}) {
      const auto executor = make_arena_executor(threads);
      for (int i = 0; i < 10; ++i) executor->post([&] { ++ran; });
    }
    EXPECT_EQ(ran, 20);
  }
}

TEST(task_executor, the_plain_one_keeps_the_order_and_the_thread) {
  const auto executor = make_plain_executor();
  std::vector<int> order;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 20; ++i)
    executor->post([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
      if (i < 5) executor->post([&, i] { order.push_back(100 + i); });
    });
  EXPECT_TRUE(order.empty());
  EXPECT_TRUE(executor->wait([&] { return order.size() == 25; }, long_time));
  std::vector<int> expected;
  for (int i = 0; i < 20; ++i) expected.push_back(i);
  for (int i = 0; i < 5; ++i) expected.push_back(100 + i);
  EXPECT_EQ(order, expected);
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(task_executor, an_arena_uses_its_threads_and_no_more) {
  const auto executor = make_arena_executor(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 400; ++i)
    executor->post([&] {
      const int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::yield();
      {
        std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      }
      --inside;
    });
  executor->drain();
  EXPECT_LE(most, 3);
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
}

}  // namespace
}  // namespace flowrun::exec
