// Page-aligned memory: alignment, zeros, moves, and an allocation that can't succeed.
#include "engine/base/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/base/error.h"

namespace flowrun {
namespace {

TEST(rounding, up_and_down) {
  EXPECT_EQ(round_up(0, 4096), 0U);
  EXPECT_EQ(round_up(1, 4096), 4096U);
  EXPECT_EQ(round_up(4096, 4096), 4096U);
  EXPECT_EQ(round_up(10, 3), 12U);
  EXPECT_EQ(round_down(4097, 4096), 4096U);
  EXPECT_EQ(round_down(4095, 4096), 0U);
}

TEST(buffer, is_aligned_rounded_and_zero) {
  aligned_buffer buffer(5000);
  EXPECT_EQ(buffer.num_bytes(), 8192U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % io_alignment, 0U);
  EXPECT_TRUE(
      std::all_of(buffer.data(), buffer.data() + buffer.num_bytes(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(buffer, nothing_is_nothing) {
  aligned_buffer none;
  aligned_buffer zero(0);
  EXPECT_FALSE(none);
  EXPECT_FALSE(zero);
  EXPECT_EQ(zero.num_bytes(), 0U);
  EXPECT_EQ(zero.data(), nullptr);
}

TEST(buffer, moves_hand_over_the_memory) {
  aligned_buffer a(4096);
  std::byte* const where = a.data();
  where[7] = std::byte{42};
  aligned_buffer b(std::move(a));
  EXPECT_EQ(b.data(), where);
  EXPECT_EQ(b.data()[7], std::byte{42});
  aligned_buffer c(8192);
  c = std::move(b);
  EXPECT_EQ(c.data(), where);
  EXPECT_EQ(c.num_bytes(), 4096U);
}

TEST(buffer, discarded_pages_read_as_zeros) {
  aligned_buffer buffer(3 * io_alignment);
  std::memset(buffer.data(), 0xff, buffer.num_bytes());
  buffer.discard_from(io_alignment + 1);  // within the second page: that page stays
  EXPECT_EQ(buffer.data()[0], std::byte{0xff});
  EXPECT_EQ(buffer.data()[2 * io_alignment - 1], std::byte{0xff});
  EXPECT_EQ(buffer.data()[2 * io_alignment], std::byte{0});
  EXPECT_EQ(buffer.data()[3 * io_alignment - 1], std::byte{0});
  buffer.discard_from(100 * io_alignment);  // past the end: nothing happens
  EXPECT_EQ(buffer.data()[0], std::byte{0xff});
}

TEST(buffer, only_whole_pages_are_discarded) {
  aligned_buffer buffer(4 * io_alignment);
  std::memset(buffer.data(), 7, buffer.num_bytes());
  const auto is_zero = [&](size_t page) { return buffer.data()[page * io_alignment] == std::byte{0}; };
  buffer.discard(io_alignment, 2 * io_alignment - 1);  // the third page isn't whole
  EXPECT_FALSE(is_zero(0));
  EXPECT_TRUE(is_zero(1));
  EXPECT_FALSE(is_zero(2));
  buffer.discard(io_alignment + 1, io_alignment);  // no whole page
  EXPECT_FALSE(is_zero(2));
  buffer.discard(3 * io_alignment, SIZE_MAX);  // to the end
  EXPECT_FALSE(is_zero(2));
  EXPECT_TRUE(is_zero(3));
  buffer.discard(100 * io_alignment, io_alignment);  // past the end
}

TEST(buffer, a_refusal_is_an_error_about_resources) {
  try {
    aligned_buffer impossible(size_t{1} << 62);
    FAIL() << "4 EiB were allocated";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_NE(std::string(e.what()).find("4.00 EiB"), std::string::npos) << e.what();
    EXPECT_FALSE(e.hint().empty());
  }
}

}  // namespace
}  // namespace flowrun
