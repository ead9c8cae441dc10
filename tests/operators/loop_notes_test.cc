#include "operators/parts/control/loop_notes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace flowrun::operators {
namespace {

constexpr uint64_t ms = 1'000'000, second = 1000 * ms;

struct noted {
  int notes = 0;
  uint64_t longest_ns = 0;  // from one to the next
};

// A loop that runs for `whole_ns`, with iterations and notes that take so long.
noted run(uint64_t whole_ns, uint64_t iteration_ns, uint64_t cost_ns) {
  noted out;
  uint64_t now = 0, last = 0, cost = 0;
  while (now < whole_ns) {
    now += iteration_ns;
    if (!note_is_due(now, now - last, cost)) continue;
    ++out.notes;
    out.longest_ns = std::max(out.longest_ns, now - last);
    now += cost_ns;
    last = now;
    cost = cost_ns;
  }
  return out;
}

TEST(loop_notes, are_bounded_in_number_and_lose_little) {
  const noted day = run(86400 * second, ms, ms / 10);
  EXPECT_LE(day.notes, 3000);
  EXPECT_LE(day.longest_ns, 86400 * second / 200 + 10 * ms);
  const noted moment = run(second, ms, ms / 10);
  EXPECT_GE(moment.notes, 40);
  EXPECT_LE(moment.longest_ns, 20 * ms);
}

TEST(loop_notes, take_a_twentieth_of_the_time) {
  const noted costly = run(600 * second, 10 * ms, second);
  EXPECT_LE(costly.notes, 30);
  EXPECT_GE(costly.notes, 25);
}

}  // namespace
}  // namespace flowrun::operators
