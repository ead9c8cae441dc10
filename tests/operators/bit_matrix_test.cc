// Bit matrices against the definition, bit by bit, and the condition for whole blocks against all addresses.
#include "operators/parts/algorithms/bit_matrix.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "operators/parts/order/permute_in_blocks.h"

namespace flowrun::operators {
namespace {

bit_matrix random_matrix(unsigned n, std::mt19937_64& random) {
  bit_matrix out(n);
  do {
    for (unsigned i = 0; i < n; ++i) out.set_column(i, random() >> (64 - n));
  } while (!out.is_permutation());
  out.set_complement(random() >> (64 - n));
  return out;
}

// Permutes bits, so that many of them send memoryloads to whole blocks; sometimes with a few sums of bits.
bit_matrix random_bit_permutation(unsigned n, std::mt19937_64& random) {
  bit_matrix out = bit_matrix::identity(n);
  for (unsigned i = 0; i < n; ++i) {
    const auto k = static_cast<unsigned>(i + random() % (n - i));
    const uint64_t column = out.column(i);
    out.set_column(i, out.column(k));
    out.set_column(k, column);
  }
  for (uint64_t sums = random() % 3; sums > 0; --sums) {
    const auto a = static_cast<unsigned>(random() % n), b = static_cast<unsigned>(random() % n);
    if (a != b) out.set_column(a, out.column(a) ^ out.column(b));
  }
  return out;
}

TEST(bit_matrix, reads_what_is_written) {
  std::string problem;
  const bit_matrix gray = bit_matrix::parse("100 110\n011", problem).value();
  for (uint64_t x = 0; x < 8; ++x) EXPECT_EQ(gray.apply(x), x ^ x >> 1);
  const bit_matrix turned = bit_matrix::parse(" 010  001 100 ", problem).value();
  EXPECT_EQ(turned.apply(0b001), 0b010U);
  EXPECT_EQ(turned.apply(0b010), 0b100U);
  EXPECT_EQ(turned.apply(0b100), 0b001U);
  for (const char* wrong : {"", "10 1", "12 01", "100 010"}) {
    EXPECT_FALSE(bit_matrix::parse(wrong, problem).has_value()) << wrong;
    EXPECT_FALSE(problem.empty());
  }
}

TEST(bit_matrix, reverses_bits) {
  for (unsigned n = 1; n < 12; ++n)
    for (uint64_t x = 0; x < uint64_t{1} << n; ++x) {
      uint64_t expected = 0;
      for (unsigned i = 0; i < n; ++i) expected |= (x >> i & 1) << (n - 1 - i);
      ASSERT_EQ(bit_matrix::reversal(n).apply(x), expected);
    }
}

TEST(bit_matrix, is_inverted) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const auto n = static_cast<unsigned>(1 + random() % bit_matrix::most_bits);
    const bit_matrix a = random_matrix(n, random);
    const bit_matrix back = a.inverse();
    for (int i = 0; i < 20; ++i) {
      const uint64_t x = random() >> (64 - n);
      ASSERT_EQ(back.apply(a.apply(x)), x);
      ASSERT_EQ(a.apply(back.apply(x)), x);
    }
  }
}

TEST(bit_matrix, singular_matrices_are_no_permutations) {
  bit_matrix a = bit_matrix::identity(5);
  EXPECT_TRUE(a.is_permutation());
  a.set_column(3, a.column(0) ^ a.column(4));
  EXPECT_EQ(a.rank(), 4U);
  EXPECT_FALSE(a.is_permutation());
}

TEST(bit_matrix, walks_through_consecutive_numbers) {
  std::mt19937_64 random(2);
  for (const unsigned n : {1U, 3U, 10U, 63U}) {
    const bit_matrix a = random_matrix(n, random);
    const uint64_t first = n < 20 ? 0 : random() >> (65 - n);
    bit_matrix_walk walk(a, first);
    for (uint64_t x = first; x < first + (n < 10 ? uint64_t{1} << n : 1024); ++x) ASSERT_EQ(walk.take(), a.apply(x));
  }
}

// Whole blocks are found exactly where every memoryload goes to whole blocks.
TEST(whole_blocks, are_found_where_they_are) {
  std::mt19937_64 random(3);
  unsigned num_found = 0;
  constexpr uint32_t row_bytes = 2048;  // a block may have one row
  for (int round = 0; round < 2000; ++round) {
    const auto n = static_cast<unsigned>(3 + random() % 6);
    const bit_matrix a = round % 4 == 0 ? random_matrix(n, random) : random_bit_permutation(n, random);
    const uint64_t memory = row_bytes << (2 + random() % 9);
    const std::optional<block_shape> shape = whole_blocks(a, row_bytes, memory, 0);
    const auto whole = [&](unsigned load, unsigned block) {
      for (uint64_t from = 0; from < uint64_t{1} << n; from += uint64_t{1} << load) {
        std::set<uint64_t> blocks;
        for (uint64_t x = from; x < from + (uint64_t{1} << load); ++x) blocks.insert(a.apply(x) >> block);
        if (blocks.size() != uint64_t{1} << (load - block)) return false;
      }
      return true;
    };
    if (!shape) continue;  // no memory for even one row
    EXPECT_LE(uint64_t{row_bytes} << shape->memoryload, memory);
    EXPECT_TRUE(whole(shape->memoryload, shape->block));
    // The next larger block that memory allows would not do.
    if (shape->block < shape->memoryload && (uint64_t{row_bytes} << (shape->block + 1)) + 64 <= memory / 32) {
      EXPECT_FALSE(whole(shape->memoryload, shape->block + 1));
    }
    num_found += shape->block > 0;
  }
  EXPECT_GT(num_found, 50U);
}

TEST(whole_blocks, want_rank_in_the_columns_of_a_memoryload) {
  const uint64_t memory = 1 << 20;
  EXPECT_FALSE(whole_blocks(bit_matrix::reversal(30), 8, memory, 0).has_value());
  const std::optional<block_shape> same = whole_blocks(bit_matrix::identity(30), 8, memory, 0);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(same->memoryload, 16U);  // of three quarters of the memory
  EXPECT_EQ(same->block, 11U);       // a 32nd of the memory, less the header
}

}  // namespace
}  // namespace flowrun::operators
