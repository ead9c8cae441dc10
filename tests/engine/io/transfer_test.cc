#include "engine/io/transfer.h"

#include <gtest/gtest.h>

namespace flowrun::io {
namespace {

TEST(transfer_progress, ends_when_all_is_moved) {
  transfer_progress p;
  EXPECT_EQ(p.advance(100, 100, false, direction::read), 100);
}

TEST(transfer_progress, asks_for_the_rest) {
  transfer_progress p;
  EXPECT_FALSE(p.advance(40, 100, false, direction::write));
  EXPECT_EQ(p.begin, 40U);
  EXPECT_EQ(p.advance(60, 100, false, direction::write), 100);
}

TEST(transfer_progress, goes_on_from_an_aligned_position_in_direct_mode) {
  transfer_progress p;
  EXPECT_FALSE(p.advance(5000, 16384, true, direction::write));
  EXPECT_EQ(p.begin, 4096U);
  EXPECT_EQ(p.moved, 5000U);
  EXPECT_FALSE(p.advance(4096, 16384, true, direction::write));
  EXPECT_EQ(p.begin, 8192U);
  EXPECT_EQ(p.advance(8192, 16384, true, direction::write), 16384);
}

TEST(transfer_progress, finds_the_end_of_the_file) {
  transfer_progress nothing;
  EXPECT_EQ(nothing.advance(0, 100, false, direction::read), 0);
  transfer_progress tail;
  EXPECT_FALSE(tail.advance(5000, 16384, true, direction::read));
  EXPECT_EQ(tail.advance(904, 16384, true, direction::read), 5000);  // the same bytes again: nothing follows
}

TEST(transfer_progress, a_write_that_gets_nowhere_is_an_error) {
  transfer_progress nothing;
  EXPECT_EQ(nothing.advance(0, 100, false, direction::write), -EIO);
  transfer_progress stuck;
  EXPECT_FALSE(stuck.advance(5000, 16384, true, direction::write));
  EXPECT_EQ(stuck.advance(904, 16384, true, direction::write), -EIO);
}

TEST(transfer_progress, tries_again_but_not_for_ever) {
  transfer_progress p;
  unsigned num_attempts = 1;
  while (!p.advance(-EINTR, 100, false, direction::read)) ++num_attempts;
  EXPECT_EQ(num_attempts, transfer_progress::max_retries);
  EXPECT_EQ(p.advance(-EIO, 100, false, direction::read), -EIO);
}

}  // namespace
}  // namespace flowrun::io
