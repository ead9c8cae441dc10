// Differences of neighbours: what goes in comes out, and nothing that is not a coding gets through or does harm.
#include "engine/runs/delta_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "engine/record/key.h"

namespace flowrun::runs {
namespace {

using record::word128;
using bytes = std::vector<std::byte>;

bytes packed(const std::vector<word128>& words, uint32_t word_bytes) {
  bytes out(words.size() * word_bytes);
  for (size_t i = 0; i < words.size(); ++i) std::memcpy(out.data() + i * word_bytes, &words[i], word_bytes);
  return out;
}

// Room for anything: a width for each group, all bits of each word, padding.
bytes coded(const bytes& words, uint32_t word_bytes) {
  bytes out(words.size() / word_bytes * 17 + 64);
  out.resize(encode_deltas(words, word_bytes, out));
  return out;
}

void expect_round_trip(const std::vector<word128>& words, uint32_t word_bytes) {
  const bytes in = packed(words, word_bytes);
  const bytes code = coded(in, word_bytes);
  ASSERT_FALSE(code.empty());
  bytes out(in.size());
  ASSERT_TRUE(decode_deltas(code, word_bytes, out)) << word_bytes << " bytes, " << words.size() << " words";
  ASSERT_EQ(in, out) << word_bytes << " bytes, " << words.size() << " words";
}

word128 draw(std::mt19937_64& random, uint32_t word_bytes) {
  const word128 word = static_cast<word128>(random()) << 64 | random();
  return word >> (128 - 8 * word_bytes);
}

TEST(delta_codec, words_of_every_width_and_number) {
  std::mt19937_64 random(1);
  for (uint32_t word_bytes = 1; word_bytes <= 16; ++word_bytes) {
    for (const size_t num_words : {1, 2, 3, 127, 128, 129, 130, 256, 257, 1000}) {
      std::vector<word128> words(num_words);
      for (word128& w : words) w = draw(random, word_bytes);
      expect_round_trip(words, word_bytes);  // in any order
      std::sort(words.begin(), words.end());
      expect_round_trip(words, word_bytes);
      std::reverse(words.begin(), words.end());
      expect_round_trip(words, word_bytes);
    }
  }
}

TEST(delta_codec, differences_of_every_width) {
  for (uint32_t word_bytes : {8U, 11U, 16U}) {
    for (unsigned width = 0; width <= 8 * word_bytes; ++width) {
      // One difference of `width` bits among ones: it decides for its group.
      std::vector<word128> words(300);
      for (size_t i = 1; i < words.size(); ++i) words[i] = words[i - 1] + 1;
      const word128 wide = width == 0 ? 0 : static_cast<word128>(1) << (width - 1);
      for (size_t i = 200; i < words.size(); ++i) words[i] += wide;
      expect_round_trip(words, word_bytes);
    }
  }
}

TEST(delta_codec, extremes_and_repeats) {
  for (uint32_t word_bytes = 1; word_bytes <= 16; ++word_bytes) {
    const word128 most = static_cast<word128>(~word128{0}) >> (128 - 8 * word_bytes);
    expect_round_trip(std::vector<word128>(400, 0), word_bytes);
    expect_round_trip(std::vector<word128>(400, most), word_bytes);
    std::vector<word128> halves(400, 0);
    std::fill(halves.begin() + 200, halves.end(), most);
    expect_round_trip(halves, word_bytes);
    std::vector<word128> alternating(400);
    for (size_t i = 0; i < alternating.size(); ++i) alternating[i] = i % 2 == 0 ? 0 : most;
    expect_round_trip(alternating, word_bytes);
  }
}

TEST(delta_codec, is_as_short_as_promised) {
  std::mt19937_64 random(3);
  constexpr size_t num_words = 1 << 16;
  std::vector<word128> words(num_words);
  for (word128& w : words) w = random();
  std::sort(words.begin(), words.end());
  const double bits = 8.0 * static_cast<double>(coded(packed(words, 8), 8).size()) / num_words;
  EXPECT_LT(bits, 64 - 16 + 3);
  for (size_t i = 0; i < num_words; ++i) words[i] = i;
  EXPECT_LT(coded(packed(words, 8), 8).size(), num_words / 4);  // a bit each, and a width
  EXPECT_LT(coded(packed(std::vector<word128>(num_words, 77), 8), 8).size(), num_words / 64);
}

TEST(delta_codec, needs_the_room_that_it_takes) {
  std::mt19937_64 random(4);
  for (uint32_t word_bytes : {3U, 8U, 16U}) {
    std::vector<word128> words(300);
    for (word128& w : words) w = draw(random, word_bytes);
    std::sort(words.begin(), words.end());
    const bytes in = packed(words, word_bytes);
    const bytes code = coded(in, word_bytes);
    for (size_t room = 0; room < code.size(); ++room) {
      bytes out(room);  // a sanitizer sees what is written behind it
      ASSERT_EQ(encode_deltas(in, word_bytes, out), 0U);
    }
    bytes out(code.size());
    EXPECT_EQ(encode_deltas(in, word_bytes, out), code.size());
    EXPECT_EQ(out, code);
  }
}

TEST(delta_codec, nothing_cut_off_or_appended_is_accepted) {
  std::mt19937_64 random(5);
  for (uint32_t word_bytes : {1U, 5U, 8U, 12U, 16U}) {
    std::vector<word128> words(300);
    for (word128& w : words) w = draw(random, word_bytes);
    std::sort(words.begin(), words.end());
    bytes code = coded(packed(words, word_bytes), word_bytes);
    bytes out(words.size() * word_bytes);
    for (size_t length = 0; length < code.size(); ++length) {
      const bytes cut(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_FALSE(decode_deltas(cut, word_bytes, out));
    }
    ASSERT_TRUE(decode_deltas(code, word_bytes, out));
    bytes other_length(out.size() + word_bytes * 128);
    EXPECT_FALSE(decode_deltas(code, word_bytes, other_length));
    code.push_back(std::byte{0});
    EXPECT_FALSE(decode_deltas(code, word_bytes, out));
  }
}

TEST(delta_codec, survives_any_content) {
  std::mt19937_64 random(6);
  for (uint32_t word_bytes = 1; word_bytes <= 16; ++word_bytes) {
    std::vector<word128> words(500);
    for (word128& w : words) w = draw(random, word_bytes);
    std::sort(words.begin(), words.end());
    const bytes code = coded(packed(words, word_bytes), word_bytes);
    bytes out(words.size() * word_bytes);
    for (int round = 0; round < 2000; ++round) {
      bytes damaged = code;
      for (uint64_t n = 1 + random() % 3; n > 0; --n)
        damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      decode_deltas(damaged, word_bytes, out);
    }
    // A width that no encoder writes.
    bytes damaged = code;
    damaged[word_bytes] = static_cast<std::byte>(word_bytes <= 8 ? 60 : 125);
    EXPECT_FALSE(decode_deltas(damaged, word_bytes, out));
    damaged[word_bytes] = std::byte{200};
    EXPECT_FALSE(decode_deltas(damaged, word_bytes, out));
    for (int round = 0; round < 2000; ++round) {
      bytes noise(random() % 600);
      for (std::byte& b : noise) b = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 9);
      decode_deltas(noise, word_bytes, out);
    }
  }
}

}  // namespace
}  // namespace flowrun::runs
