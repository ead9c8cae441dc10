// suffix_sort: against a plain sort of the suffixes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "engine/base/error.h"
#include "operators/parts/algorithms/suffix_order.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using string = std::vector<uint32_t>;

std::vector<uint32_t> order_of(const string& text) {
  suffix_order order(text.size());
  for (const uint32_t letter : text) order.add(letter);
  while (order.step()) {
  }
  return {order.suffixes().begin(), order.suffixes().end()};
}

std::vector<uint32_t> expected_order_of(const string& text) {
  std::vector<uint32_t> out(text.size());
  std::iota(out.begin(), out.end(), 0);
  const auto at = [&](uint32_t i) { return text.begin() + static_cast<std::ptrdiff_t>(i); };
  std::sort(out.begin(), out.end(),
            [&](uint32_t a, uint32_t b) { return std::lexicographical_compare(at(a), text.end(), at(b), text.end()); });
  return out;
}

// Whether it is a permutation in which (letter, place of the suffix behind it) grows: for texts that are too long to be
// sorted plainly (Burkhardt and Kärkkäinen, "Fast lightweight suffix array construction and checking").
bool is_order_of(const string& text, const std::vector<uint32_t>& order) {
  std::vector<size_t> place(text.size() + 1, text.size());
  for (size_t i = 0; i < order.size(); ++i) place.at(order[i]) = i + 1;
  place[text.size()] = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i) {
    const uint32_t a = order[i], b = order[i + 1];
    if (std::pair(text[a], place[a + 1]) >= std::pair(text[b], place[b + 1])) return false;
  }
  return order.size() == text.size() &&
         std::count(place.begin(), place.end() - 1, text.size()) == (text.empty() ? 0 : 1);
}

string random_text(size_t length, uint32_t num_symbols, uint64_t seed) {
  std::mt19937_64 random(seed);
  string out;
  for (size_t i = 0; i < length; ++i) out.push_back(static_cast<uint32_t>(random() % num_symbols));
  return out;
}

string repeated(const string& text, size_t length) {
  string out;
  while (out.size() < length) out.push_back(text[out.size() % text.size()]);
  return out;
}

string fibonacci_text(size_t length) {
  string before = {1}, out = {0};
  while (out.size() < length) {
    const string longer = out;
    out.insert(out.end(), before.begin(), before.end());
    before = longer;
  }
  out.resize(length);
  return out;
}

TEST(suffix_order, sorts_short_texts) {
  uint64_t seed = 0;
  for (const uint32_t num_symbols : {1U, 2U, 3U, 26U, 1000U, 100000U})
    for (const size_t length : {0U, 1U, 2U, 3U, 5U, 8U, 13U, 40U, 200U, 1000U})
      for (int i = 0; i < 20; ++i) {
        const string text = random_text(length, num_symbols, ++seed);
        ASSERT_EQ(order_of(text), expected_order_of(text)) << "seed " << seed;
      }
}

TEST(suffix_order, sorts_all_texts_of_three_letters) {
  for (size_t length = 0; length <= 7; ++length)
    for (size_t code = 0, end = static_cast<size_t>(std::pow(3, length)); code < end; ++code) {
      string text;
      for (size_t i = 0, rest = code; i < length; ++i, rest /= 3) text.push_back(static_cast<uint32_t>(rest % 3));
      ASSERT_EQ(order_of(text), expected_order_of(text));
    }
}

// Groups that are split in place, and long repetitions.
TEST(suffix_order, sorts_long_texts) {
  constexpr size_t length = 300000;
  const std::vector<string> texts = {
      random_text(length, 2, 1),
      random_text(length, 250, 2),
      random_text(length, 1000000, 3),
      string(length, 7),
      repeated({5, 5, 5, 1}, length),
      repeated(random_text(1000, 4, 4), length),
      repeated(random_text(70000, 90, 5), length),
      fibonacci_text(length),
  };
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_TRUE(is_order_of(texts[i], order_of(texts[i]))) << "text " << i;
}

TEST(suffix_order, takes_eight_bytes_a_letter) {
  EXPECT_EQ(suffix_order::memory_bytes(0, 0), 8U);
  EXPECT_EQ(suffix_order::memory_bytes(1000, 1001), 8008U);
  EXPECT_EQ(suffix_order::memory_bytes(1000, 1002), 8008U + 4008U);
}

std::string job(const std::string& type) {
  return "in: {op: test.rows, with: {type: " + type + "}}\nx: {op: suffix_sort, in: in}\nout: {op: test.sink, in: x}\n";
}

TEST(suffix_sort, gives_positions_in_order) {
  EXPECT_EQ(run_all_ways(job("{c: u8}"), {{"in", {"98", "97", "110", "97", "110", "97"}}}),
            (rows{"5", "3", "1", "0", "4", "2"}));
  EXPECT_EQ(run_all_ways(job("{c: u40}"), {{"in", {}}}), rows{});
  const string text = random_text(5000, 3, 7);
  rows in, expected;
  for (const uint32_t letter : text) in.push_back(fmt::format("{}", letter));
  for (const uint32_t pos : expected_order_of(text)) expected.push_back(fmt::format("{}", pos));
  for (const char* type : {"{c: u8}", "{c: u24}", "{c: u32}", "{c: u64}"})
    EXPECT_EQ(run_all_ways(job(type), {{"in", in}}), expected) << type;
}

TEST(suffix_sort, says_what_it_needs) {
  const auto problem = [](const rows& in, uint64_t memory_bytes) {
    try {
      run_options options;
      options.memory_bytes = memory_bytes;
      run(job("{c: u64}"), {{"in", in}}, options);
    } catch (const error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  const rows many(100000, "1");
  EXPECT_THAT(problem(many, 1 << 20), HasSubstr("the suffixes of 100,000 letters need 1.01 MiB of memory"));
  EXPECT_EQ(problem(many, 2 << 20), "none");
  EXPECT_THAT(problem({"1", "1000000"}, 1 << 20), HasSubstr("2 letters, the largest of which is 1000000, need"));
  EXPECT_THAT(problem({"1", "4294967295"}, 1 << 20), HasSubstr("letter 1 (counted from 0) is 4294967295"));
}

TEST(suffix_sort, reports_faults) {
  EXPECT_THAT(faults_of(job("{c: u16}")), IsEmpty());
  EXPECT_THAT(faults_of(job("{c: i16}")), ElementsAre(HasSubstr("one column of an unsigned type")));
  EXPECT_THAT(faults_of(job("{c: u8, d: u8}")), ElementsAre(HasSubstr("one column of an unsigned type")));
  EXPECT_EQ(output_of(job("{c: u16}"), "x"), "{pos: u32} by nothing");
}

}  // namespace
}  // namespace flowrun::operators::testing
