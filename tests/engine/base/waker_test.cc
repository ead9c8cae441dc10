// A wake is never lost, whether it comes before the wait or during it.
#include "engine/base/waker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace flowrun {
namespace {

TEST(waker, a_wake_before_the_wait_counts) {
  blocking_waker w;
  w.wake();
  w.wait();  // hangs if it was lost
  w.wake();
  w.wake();  // two wakes without a wait are one
  w.wait();
}

TEST(waker, hands_over_in_both_directions) {
  blocking_waker ping;
  blocking_waker pong;
  std::atomic<int> turns = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      ping.wait();
      ++turns;
      pong.wake();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    ping.wake();
    pong.wait();
    EXPECT_EQ(turns.load(), i + 1);
  }
  other.join();
}

}  // namespace
}  // namespace flowrun
