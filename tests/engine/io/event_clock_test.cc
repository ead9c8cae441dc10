#include "engine/io/event_clock.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace flowrun::io {
namespace {

using testing::ElementsAre;

class event_clock_test : public testing::Test {
 protected:
  // An event that writes down its name and the time.
  event_clock::event note(std::string name) {
    return [this, name = std::move(name)] { log.push_back(name + "@" + std::to_string(clock.now())); };
  }
  event_clock clock;
  std::vector<std::string> log;
};

TEST_F(event_clock_test, starts_at_0_with_nothing_to_do) {
  EXPECT_EQ(clock.now(), 0U);
  EXPECT_FALSE(clock.run_next());
  EXPECT_EQ(clock.run_until_idle(), 0U);
  EXPECT_EQ(clock.next_event(), std::nullopt);
}

TEST_F(event_clock_test, fires_in_order_of_time_then_of_scheduling) {
  clock.schedule(5, note("a"));
  clock.schedule(3, note("b"));
  clock.schedule(5, note("c"));
  clock.schedule(5, note("d"));
  EXPECT_EQ(clock.num_events(), 4U);
  EXPECT_EQ(clock.next_event(), 3U);
  EXPECT_EQ(clock.run_until_idle(), 5U);
  EXPECT_THAT(log, ElementsAre("b@3", "a@5", "c@5", "d@5"));
}

TEST_F(event_clock_test, advance_fires_what_falls_into_it_and_stops_at_its_end) {
  clock.schedule(10, note("a"));
  clock.schedule(11, note("b"));
  clock.advance(10);
  EXPECT_THAT(log, ElementsAre("a@10"));
  EXPECT_EQ(clock.now(), 10U);
  clock.advance(7);
  EXPECT_THAT(log, ElementsAre("a@10", "b@11"));
  EXPECT_EQ(clock.now(), 17U);
}

TEST_F(event_clock_test, run_next_moves_to_one_event) {
  clock.schedule(4, note("a"));
  clock.schedule(4, note("b"));
  EXPECT_TRUE(clock.run_next());
  EXPECT_THAT(log, ElementsAre("a@4"));
  EXPECT_TRUE(clock.run_next());
  EXPECT_FALSE(clock.run_next());
}

TEST_F(event_clock_test, events_may_schedule_events) {
  clock.schedule(2, [&] {
    clock.schedule(2, note("now"));
    clock.schedule(6, note("later"));
    clock.schedule(3, note("soon"));
  });
  clock.schedule(2, note("beside"));
  clock.run_until(5);
  EXPECT_THAT(log, ElementsAre("beside@2", "now@2", "soon@3"));
  clock.run_until_idle();
  EXPECT_EQ(log.back(), "later@6");
}

TEST_F(event_clock_test, never_goes_back) {
  clock.advance(100);
  clock.schedule(50, note("late"));
  EXPECT_EQ(clock.next_event(), 100U);
  clock.run_until(20);
  EXPECT_EQ(clock.now(), 100U);
  EXPECT_TRUE(log.empty());
  clock.advance(0);
  EXPECT_THAT(log, ElementsAre("late@100"));
}

TEST_F(event_clock_test, thousands_of_random_events_come_sorted) {
  std::mt19937_64 random(1);
  uint64_t last = 0;
  uint64_t num_fired = 0;
  for (int i = 0; i < 5000; ++i)
    clock.schedule(random() % 1000, [&] {
      EXPECT_GE(clock.now(), last);
      last = clock.now();
      if (++num_fired < 10000) clock.schedule(clock.now() + random() % 7, [&] { ++num_fired; });
    });
  clock.run_until_idle();
  EXPECT_EQ(num_fired, 10000U);
}

}  // namespace
}  // namespace flowrun::io
