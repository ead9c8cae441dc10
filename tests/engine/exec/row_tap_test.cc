// A tap copies the next rows for who asks, within its bounds, and keeps nobody waiting.
#include "engine/exec/row_tap.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "engine/record/batch.h"

namespace flowrun::exec {
namespace {

using namespace std::chrono_literals;
using outcome = row_tap::outcome;
using record::type_kind;

record::row_type words() { return record::row_type({{"n", {type_kind::u64}}, {"t", {type_kind::string}}}); }

class row_tap_test : public testing::Test {
 protected:
  // Rows 0 … count - 1 with this text.
  record::batch rows(size_t count, const std::string& text) {
    record::batch_builder builder(type, pool, record::rows_of_any_length(1 << 24));
    for (uint64_t i = 0; i < count; ++i) {
      std::byte* const row = builder.append();
      std::memcpy(row + type.columns()[0].offset, &i, sizeof i);
      builder.put_string(row + type.columns()[1].offset, text);
    }
    return builder.take();
  }
  // Shows the batch again and again while `ask` runs, as a pipeline does.
  template <class Ask>
  void while_rows_come(const record::batch& b, Ask&& ask) {
    std::atomic<bool> ended{false};
    std::thread pipeline([&] {
      while (!ended)
        if (tap.wanted()) tap.show(b, 0);
    });
    ask();
    ended = true;
    pipeline.join();
  }
  uint64_t number_of(const tapped_rows& got, size_t i) const {
    uint64_t out = 0;
    std::memcpy(&out, got.rows.data() + i * type.row_bytes(), sizeof out);
    return out;
  }
  std::string text_of(const tapped_rows& got, size_t i) const {
    return std::string(record::load_string(got.rows.data() + i * type.row_bytes() + type.columns()[1].offset,
                                           reinterpret_cast<const std::byte*>(got.heap.data())));
  }

  record::row_type type = words();
  record::batch_pool pool;
  row_tap tap{"node", {{"out", type}}, false};
};

TEST_F(row_tap_test, the_next_rows_are_copied) {
  tapped_rows got;
  {
    const record::batch b = rows(5, "text");
    while_rows_come(b, [&] { EXPECT_EQ(tap.ask(0, 3, 10s, got), outcome::rows); });
  }  // the batch is gone
  ASSERT_EQ(got.num_rows, 3u);
  EXPECT_EQ(number_of(got, 2), 2u);
  EXPECT_EQ(text_of(got, 2), "text");
  EXPECT_FALSE(tap.wanted());
}

TEST_F(row_tap_test, no_more_than_one_answer_holds) {
  tapped_rows got;
  const record::batch b = rows(1000, "text");
  while_rows_come(b, [&] { EXPECT_EQ(tap.ask(0, 1000, 10s, got), outcome::rows); });
  EXPECT_EQ(got.num_rows, row_tap::most_rows);
  const record::batch wide = rows(64, std::string(row_tap::most_text_bytes, 'x'));
  while_rows_come(wide, [&] { EXPECT_EQ(tap.ask(0, 64, 10s, got), outcome::rows); });
  EXPECT_LT(got.rows.size() + got.heap.size(), row_tap::most_bytes + row_tap::most_text_bytes + 100);
  EXPECT_GT(got.num_rows, 20u);
}

TEST_F(row_tap_test, a_long_text_ends_with_a_whole_character) {
  tapped_rows got;
  const record::batch b = rows(
      1, "x" + [] {
        std::string out;
        for (size_t i = 0; i < row_tap::most_text_bytes; ++i) out += "é";  // two bytes each
        return out;
      }());
  while_rows_come(b, [&] { EXPECT_EQ(tap.ask(0, 1, 10s, got), outcome::rows); });
  const std::string text = text_of(got, 0);
  ASSERT_TRUE(text.ends_with("é…"));
  EXPECT_EQ((text.size() - 1 - std::string("…").size()) % 2, 0u);
  EXPECT_LE(text.size(), row_tap::most_text_bytes + std::string("…").size());
}

TEST_F(row_tap_test, where_nothing_comes_that_is_said_and_a_part_is_given) {
  tapped_rows got;
  EXPECT_EQ(tap.ask(0, 3, 1ms, got), outcome::nothing_came);
  std::thread pipeline([&] {
    while (!tap.wanted()) std::this_thread::yield();
    tap.show(rows(2, "few"), 0);
  });
  EXPECT_EQ(tap.ask(0, 3, 300ms, got), outcome::rows);
  pipeline.join();
  EXPECT_EQ(got.num_rows, 2u);
}

TEST_F(row_tap_test, a_second_asker_is_sent_away_and_the_end_lets_the_first_go) {
  std::thread first([&] {
    tapped_rows got;
    EXPECT_EQ(tap.ask(0, 3, 60s, got), outcome::over);
  });
  while (!tap.wanted()) std::this_thread::yield();
  tapped_rows got;
  EXPECT_EQ(tap.ask(0, 3, 60s, got), outcome::taken);
  tap.close();
  first.join();
  EXPECT_EQ(tap.ask(0, 3, 60s, got), outcome::over);
}

TEST_F(row_tap_test, rows_of_another_width_are_not_looked_at) {
  tapped_rows got;
  record::batch other = rows(2, "x");
  other.row_bytes -= 1;
  while_rows_come(other, [&] { EXPECT_EQ(tap.ask(0, 1, 20ms, got), outcome::nothing_came); });
}

}  // namespace
}  // namespace flowrun::exec
