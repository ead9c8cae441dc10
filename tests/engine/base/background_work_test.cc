#include "engine/base/background_work.h"
#include "tests/support/task_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace flowrun {
namespace {

TEST(background_work, goes_on_in_steps_until_done) {
  task_queue queue(0);
  background_work work(queue.poster());
  task_queue::sleeper sleeper(queue);
  EXPECT_TRUE(work.idle(&sleeper).is_ready());
  int steps = 0;
  waker* self = nullptr;
  work.start([&](waker& w) {
    self = &w;
    return ++steps == 3 ? outcome::done() : outcome::blocked();
  });
  EXPECT_TRUE(work.idle(&sleeper).is_blocked());
  queue.drain();
  EXPECT_EQ(steps, 1);  // waits for its waker
  EXPECT_TRUE(work.idle(&sleeper).is_blocked());
  self->wake();
  queue.drain();
  self->wake();
  queue.drain();
  EXPECT_EQ(steps, 3);
  sleeper.wait();  // was woken at the end
  EXPECT_TRUE(work.idle(&sleeper).is_ready());
  self->wake();  // a late wake
  queue.drain();
  EXPECT_EQ(steps, 3);
}

TEST(background_work, a_step_that_is_ready_comes_again_without_a_wake) {
  task_queue queue(0);
  background_work work(queue.poster());
  task_queue::sleeper sleeper(queue);
  int steps = 0;
  work.start([&](waker&) { return ++steps == 3 ? outcome::done() : outcome::ready(); });
  queue.drain();
  EXPECT_EQ(steps, 3);
  EXPECT_TRUE(work.idle(&sleeper).is_ready());
}

TEST(background_work, rethrows_to_its_owner) {
  task_queue queue(0);
  background_work work(queue.poster());
  task_queue::sleeper sleeper(queue);
  work.start([](waker&) -> outcome { throw std::runtime_error("no"); });
  EXPECT_TRUE(work.idle(&sleeper).is_blocked());
  sleeper.wait();
  EXPECT_THROW((void)work.idle(&sleeper), std::runtime_error);
  EXPECT_THROW((void)work.idle(&sleeper), std::runtime_error);
}

TEST(background_work, what_is_started_meanwhile_comes_later) {
  task_queue queue(0);
  background_work work(queue.poster());
  task_queue::sleeper sleeper(queue);
  std::string order;
  waker* self = nullptr;
  work.start([&](waker& w) {
    self = &w;
    order += 'a';
    return order.size() == 2 ? outcome::done() : outcome::blocked();
  });
  for (const char c : {'b', 'c'})
    work.start([&order, c](waker&) {
      order += c;
      return outcome::done();
    });
  EXPECT_TRUE(work.at_most(2, nullptr).is_blocked());
  queue.drain();
  EXPECT_EQ(order, "a");
  EXPECT_TRUE(work.at_most(3, nullptr).is_ready());
  EXPECT_TRUE(work.at_most(2, &sleeper).is_blocked());
  self->wake();
  sleeper.wait();  // woken at the end of the first
  EXPECT_TRUE(work.at_most(2, &sleeper).is_ready());
  queue.drain();
  EXPECT_EQ(order, "aabc");
  EXPECT_TRUE(work.idle(&sleeper).is_ready());
}

TEST(background_work, nothing_begins_after_an_error) {
  task_queue queue(0);
  background_work work(queue.poster());
  bool begun = false;
  auto begin = [&](waker&) {
    begun = true;
    return outcome::done();
  };
  work.start([](waker&) -> outcome { throw std::runtime_error("no"); });
  work.start(begin);
  queue.drain();
  work.start(begin);
  queue.drain();
  EXPECT_FALSE(begun);
  EXPECT_THROW((void)work.at_most(5, nullptr), std::runtime_error);
}

TEST(background_work, one_piece_after_another_on_threads) {
  task_queue queue(2);
  background_work work(queue.poster());
  task_queue::sleeper sleeper(queue);
  std::atomic<int> inside{0};
  int total = 0;
  for (int i = 0; i < 200; ++i) {
    while (work.idle(&sleeper).is_blocked()) sleeper.wait();
    work.start([&](waker& w) {
      EXPECT_EQ(inside.fetch_add(1), 0);
      ++total;
      const bool finished = total % 3 == 0;
      inside.fetch_sub(1);
      if (!finished) w.wake();
      return finished ? outcome::done() : outcome::blocked();
    });
  }
  while (work.idle(&sleeper).is_blocked()) sleeper.wait();
  EXPECT_EQ(total, 600);
}

TEST(background_work, its_end_waits_for_the_step_that_runs) {
  task_queue queue(1);
  std::atomic<bool> begun{false}, ended{false};  // outlive the work: its end still reads them
  {
    background_work work(queue.poster());
    work.start([&](waker&) {
      begun = true;
      for (int i = 0; i < 100'000; ++i) begun.load();
      ended = true;
      return outcome::done();
    });
    while (!begun) std::this_thread::yield();
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace flowrun
