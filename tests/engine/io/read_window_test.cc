// Reading ahead of a consumer who leaves pieces out: what is read when, what waits, what fails.
#include "engine/io/read_window.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

#include "engine/base/error.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/file.h"
#include "tests/support/held_backend.h"
#include "tests/support/byte_files.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

constexpr size_t piece_bytes = 4096;

// Pieces of a file, each full of its own number.
class numbered_pieces final : public piece_source {
 public:
  explicit numbered_pieces(uint64_t num_pieces) {
    std::vector<std::byte> content;
    for (uint64_t i = 0; i < num_pieces; ++i) content.insert(content.end(), piece_bytes, static_cast<std::byte>(i));
    store(home_ / "in", content);
    file_ = file::open(home_ / "in", open_mode::read);
  }
  void prepare(uint64_t piece, request& read, std::byte* memory) override {
    read.target = file_.get();
    read.way = direction::read;
    read.offset = piece * piece_bytes;
    read.data = memory;
    read.num_bytes = piece_bytes;
    asked.push_back(piece);
  }
  void check(uint64_t piece, request& read, const std::byte* memory) override {
    EXPECT_EQ(read.take_result(), piece_bytes);
    EXPECT_EQ(memory[piece_bytes - 1], static_cast<std::byte>(piece));
  }

  std::vector<uint64_t> asked;

 private:
  temporary_directory home_;
  std::unique_ptr<file> file_;
};

window_options options_for(uint64_t num_pieces, size_t num_buffers) {
  return {.num_pieces = num_pieces, .longest_piece = piece_bytes, .num_buffers = num_buffers};
}

using numbers = std::vector<uint64_t>;

TEST(read_window, reads_ahead_again_once_two_pieces_in_a_row_are_taken) {
  held_backend backend;
  backend.hold = false;
  numbered_pieces source(100);
  read_window window(backend, source, options_for(100, 4));
  window.start();
  EXPECT_EQ(source.asked, (numbers{0, 1, 2, 3}));
  read_piece piece;
  ASSERT_TRUE(window.next(piece, nullptr).is_ready());
  source.asked.clear();
  window.skip_to(50);
  piece = {};
  ASSERT_TRUE(window.next(piece, nullptr).is_ready());
  EXPECT_EQ(piece.number, 50U);
  EXPECT_EQ(source.asked, (numbers{50}));  // and nothing in vain
  ASSERT_TRUE(window.next(piece, nullptr).is_ready());
  EXPECT_EQ(source.asked, (numbers{50, 51, 52}));
  ASSERT_TRUE(window.next(piece, nullptr).is_ready());
  EXPECT_EQ(source.asked, (numbers{50, 51, 52, 53, 54}));
  EXPECT_EQ(window.position(), 53U);
}

TEST(read_window, starts_small_where_it_is_told_to) {
  held_backend backend;
  backend.hold = false;
  numbered_pieces source(100);
  window_options options = options_for(100, 8);
  options.most_ahead = 2;
  options.ahead_at_once = false;
  read_window window(backend, source, options);
  window.start();
  EXPECT_TRUE(source.asked.empty());
  std::deque<read_piece> held(3);
  for (read_piece& one : held) ASSERT_TRUE(window.next(one, nullptr).is_ready());
  EXPECT_EQ(source.asked, (numbers{0, 1, 2, 3, 4}));  // never more than two ahead, though there are buffers
}

TEST(read_window, what_is_expected_comes_first_and_what_is_asked_for_before_all) {
  held_backend backend;
  backend.hold = false;
  numbered_pieces source(100);
  read_window window(backend, source, options_for(100, 3));
  window.expect(numbers{10, 20, 30, 40});
  EXPECT_EQ(source.asked, (numbers{10, 20, 30}));
  read_piece ten, piece;
  window.skip_to(10);
  ASSERT_TRUE(window.next(ten, nullptr).is_ready());
  window.skip_to(15);  // not expected: the furthest one gives its buffer up, and is read again in its turn
  ASSERT_TRUE(window.next(piece, nullptr).is_ready());
  EXPECT_EQ(piece.number, 15U);
  for (const uint64_t next : {20U, 30U, 40U}) {
    window.skip_to(next);
    piece = {};
    ASSERT_TRUE(window.next(piece, nullptr).is_ready());
    EXPECT_EQ(piece.number, next);
  }
}

TEST(read_window, pieces_left_out_while_in_flight_are_dropped) {
  held_backend backend;
  numbered_pieces source(10);
  read_window window(backend, source, options_for(10, 2));
  window.start();
  ASSERT_EQ(backend.num_waiting(), 2U);
  window.skip_to(5);
  read_piece piece;
  blocking_waker w;
  ASSERT_EQ(window.next(piece, &w), outcome::blocked());
  backend.finish(1);  // piece 0, which is not wanted any more: its buffer will do
  w.wait();
  ASSERT_EQ(window.next(piece, &w), outcome::blocked());
  backend.finish(2);
  w.wait();
  ASSERT_TRUE(window.next(piece, &w).is_ready());
  EXPECT_EQ(piece.number, 5U);
  backend.hold = false;
  backend.finish(10);
}

TEST(read_window, a_buffer_that_comes_back_wakes_and_lives_on_beyond_the_window) {
  const auto backend = make_backend(backend_kind::memory);
  numbered_pieces source(10);
  blocking_waker w;
  read_piece last;
  {
    read_window window(*backend, source, options_for(10, 2));
    read_piece first, second, third;
    ASSERT_TRUE(window.next(first, &w).is_ready());
    ASSERT_TRUE(window.next(second, &w).is_ready());
    ASSERT_EQ(window.next(third, &w), outcome::blocked());
    first = {};
    w.wait();
    ASSERT_TRUE(window.next(third, &w).is_ready());
    last = std::move(third);
  }
  EXPECT_EQ(last.memory[0], std::byte{2});
}

TEST(read_window, a_failure_stays_also_behind_the_last_piece) {
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    faulty_backend backend(make_backend(backend_kind::memory),
                           {{.nth = nth, .what = injected_fault::effect::fail, .value = EIO}});
    numbered_pieces source(3);
    read_window window(backend, source, options_for(3, 3));
    read_piece piece;
    for (uint64_t i = 1; i < nth; ++i) ASSERT_TRUE(window.next(piece, nullptr).is_ready());
    for (int i = 0; i < 2; ++i) EXPECT_THROW((void)window.next(piece, nullptr), error);
    window.skip_to(3);
    EXPECT_THROW((void)window.next(piece, nullptr), error);
  }
}

// Any order of taking, leaving out, expecting and holding gives the right pieces.
TEST(read_window, random_consumers) {
  std::mt19937 random(3);
  for (const backend_kind kind : {backend_kind::memory, backend_kind::threads}) {
    const auto backend = make_backend(kind, 4);
    for (int round = 0; round < 40; ++round) {
      numbered_pieces source(60);
      blocking_waker w;
      read_window window(*backend, source, options_for(60, 2 + random() % 6));
      std::deque<read_piece> held;
      uint64_t next = 0;
      while (next < 60) {
        if (random() % 3 == 0) {
          next = std::min<uint64_t>(60, next + random() % 9);
          window.skip_to(next);
        }
        if (next == 60) break;
        if (random() % 4 == 0) window.expect(numbers{next, next + (60 - next) / 2});
        if (held.size() > random() % 3) held.pop_front();
        read_piece piece;
        const outcome o = window.next(piece, &w);
        if (o.is_blocked()) {
          held.clear();
          w.wait();
          continue;
        }
        ASSERT_EQ(piece.number, next++);
        held.push_back(std::move(piece));
        ASSERT_EQ(held.back().memory[7], static_cast<std::byte>(held.back().number));
      }
      read_piece none;
      held.clear();
      EXPECT_TRUE(window.next(none, &w).is_done());
    }
  }
}

}  // namespace
}  // namespace flowrun::io
