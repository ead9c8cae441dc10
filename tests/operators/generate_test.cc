// The generators' arithmetic: sort benchmark records against published checksums, R-MAT against its probabilities.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "operators/parts/algorithms/generate_rmat.h"
#include "operators/parts/algorithms/sort_benchmark.h"

namespace flowrun::operators {
namespace {

std::vector<std::byte> records(uint64_t first, size_t count, record_style style = record_style::binary) {
  std::vector<std::byte> out(count * benchmark_record_bytes);
  generate_records(first, count, style, out.data());
  return out;
}

std::string_view text(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(sort_benchmark, crc32_is_that_of_zlib) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32(reinterpret_cast<const std::byte*>(digits.data()), digits.size()), 0xCBF43926U);
  EXPECT_EQ(crc32(nullptr, 0), 0U);
}

TEST(sort_benchmark, first_random_numbers) {
  // a * 0 + c, and a * c + c modulo 2^128.
  EXPECT_EQ(benchmark_random(0), (number128{0x4A696D4772617952, 0x4950202020202001}));
  EXPECT_EQ(benchmark_random(1), (number128{0x95E0E48262B3EDFE, 0x04479485C755B646}));
}

// gensort 1.2 and Hadoop's TeraGen put the same random numbers into another frame; the checksum of its first million
// records is well known from TeraValidate.
TEST(sort_benchmark, random_numbers_and_checksum_give_the_published_sum_of_teragen) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  record_checksum checksum;
  std::array<unsigned char, 100> record{};
  for (uint64_t n = 0; n < 1'000'000; ++n) {
    const number128 random = benchmark_random(n);
    for (size_t i = 0; i < 8; ++i) record[i] = static_cast<unsigned char>(random.high >> (56 - 8 * i));
    record[8] = static_cast<unsigned char>(random.low >> 56);
    record[9] = static_cast<unsigned char>(random.low >> 48);
    record[10] = 0x00;
    record[11] = 0x11;
    for (size_t i = 0; i < 32; ++i)
      record[12 + i] = static_cast<unsigned char>(i < 16 ? '0' : digits[n >> (4 * (31 - i)) & 15]);
    const std::array<unsigned char, 4> middle = {0x88, 0x99, 0xAA, 0xBB}, end = {0xCC, 0xDD, 0xEE, 0xFF};
    std::memcpy(&record[44], middle.data(), 4);
    for (size_t i = 0; i < 12; ++i) std::memset(&record[48 + 4 * i], digits[random.low >> (44 - 4 * i) & 15], 4);
    std::memcpy(&record[96], end.data(), 4);
    checksum.add(reinterpret_cast<const std::byte*>(record.data()), 1);
  }
  EXPECT_EQ(checksum.text(), "7a27e2d0d55de");
  EXPECT_EQ(checksum.num_records(), 1'000'000U);
}

TEST(sort_benchmark, any_range_of_records_can_be_made_on_its_own) {
  for (const record_style style : {record_style::binary, record_style::ascii}) {
    const std::vector<std::byte> whole = records(1000, 100, style);
    for (size_t from = 0; from < 100; from += 7) {
      const std::vector<std::byte> part = records(1000 + from, 100 - from, style);
      ASSERT_EQ(text(part), text(whole).substr(from * benchmark_record_bytes));
    }
  }
}

TEST(sort_benchmark, keys_are_the_upper_bytes_of_the_random_numbers) {
  const std::vector<std::byte> made = records(5, 3);
  for (size_t r = 0; r < 3; ++r) {
    const number128 random = benchmark_random(5 + r);
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(static_cast<uint64_t>(made[r * 100 + i]), (random.high >> (56 - 8 * i)) & 255);
    EXPECT_EQ(static_cast<uint64_t>(made[r * 100 + 9]), (random.low >> 48) & 255);
    // The second group of ten bytes is the next number's, masked.
    EXPECT_EQ(static_cast<uint64_t>(made[r * 100 + 10]), (benchmark_random(6 + r).high >> 56) ^ 0xF0);
  }
}

TEST(sort_benchmark, ascii_records_are_lines) {
  const std::vector<std::byte> made = records(0xABC, 2, record_style::ascii);
  for (size_t r = 0; r < 2; ++r) {
    const std::string_view line = text(made).substr(r * 100, 100);
    EXPECT_EQ(line.substr(10, 2), "  ");
    EXPECT_EQ(line.substr(12, 32), r == 0 ? "00000000000000000000000000000ABC" : "00000000000000000000000000000ABD");
    EXPECT_EQ(line.substr(44, 2), "  ");
    EXPECT_EQ(line.substr(98), "\r\n");
    for (const char c : line.substr(0, 98)) EXPECT_TRUE(c >= ' ' && c <= '~');
  }
}

TEST(sort_benchmark, checksums_add_up_in_any_order_and_carry) {
  const std::vector<std::byte> made = records(0, 10);
  record_checksum whole, back, front;
  whole.add(made.data(), 10);
  back.add(made.data() + 400, 6);
  front.add(made.data(), 4);
  back.add(front);
  EXPECT_EQ(back.sum(), whole.sum());
  EXPECT_EQ(back.num_records(), 10U);
  record_checksum doubled = whole;
  for (int i = 0; i < 40; ++i) doubled.add(record_checksum(doubled));  // times 2^40: past 64 bits
  EXPECT_EQ(doubled.sum(), (number128{whole.sum().low >> 24, whole.sum().low << 40}));
  EXPECT_EQ(doubled.text().size(), 16 + std::string(record_checksum(whole).text()).size() - 6);
}

TEST(rmat, edges_fall_into_the_quadrants_as_often_as_asked) {
  const rmat_generator graph(20, 0.5, 0.25, 0.15, 42);
  constexpr uint64_t num_edges = 200'000;
  for (const unsigned level : {0U, 1U, 7U, 19U}) {
    std::array<uint64_t, 4> quadrant{};
    for (uint64_t i = 0; i < num_edges; ++i) {
      const auto [source, target] = graph.edge(i);
      ASSERT_LT(source, 1U << 20);
      ASSERT_LT(target, 1U << 20);
      ++quadrant[2 * (source >> level & 1) + (target >> level & 1)];
    }
    const std::array<double, 4> expected = {0.5, 0.25, 0.15, 0.1};
    for (size_t q = 0; q < 4; ++q)  // five standard deviations
      EXPECT_NEAR(static_cast<double>(quadrant[q]) / num_edges, expected[q], 5 * 0.5 / 447);
  }
}

TEST(rmat, depends_on_the_seed_and_the_edge_only) {
  const rmat_generator one(30, 0.57, 0.19, 0.19, 1), again(30, 0.57, 0.19, 0.19, 1), other(30, 0.57, 0.19, 0.19, 2);
  size_t same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(one.edge(i), again.edge(i));
    same += one.edge(i) == other.edge(i);
  }
  EXPECT_LT(same, 10U);
  const rmat_generator certain(48, 0, 0, 1, 9);
  EXPECT_EQ(certain.edge(3), (std::pair<uint64_t, uint64_t>{(uint64_t{1} << 48) - 1, 0}));
}

}  // namespace
}  // namespace flowrun::operators
