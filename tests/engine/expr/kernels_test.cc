// Every instruction set computes the same, for every primitive, length and field, at unaligned addresses.
#include "engine/expr/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/expr/lane.h"

namespace flowrun::expr {
namespace {

// Lanes that sit on the edges of all number types, and random ones.
std::vector<uint64_t> interesting_lanes(size_t n, uint64_t seed) {
  std::vector<uint64_t> edges = {0,
                                 1,
                                 2,
                                 63,
                                 64,
                                 65,
                                 255,
                                 256,
                                 ~uint64_t{0},
                                 lane::sign_bit,
                                 lane::sign_bit - 1,
                                 lane::sign_bit + 1,
                                 uint64_t{1} << 32,
                                 (uint64_t{1} << 53) + 1};
  for (double d : {0.0, -0.0, 0.5, -1.5, 1e300, -1e300, 1e19, 2e19, -1e19, 0x1.fffffffp127, 0x1.ffffffp127, 1e-50,
                   std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::quiet_NaN()})
    edges.push_back(lane::bits(d));
  std::mt19937_64 random(seed);
  std::vector<uint64_t> out;
  while (out.size() < n) {
    const uint64_t pick = random();
    out.push_back(pick % 3 == 0 ? edges[random() % edges.size()] : pick % 3 == 1 ? random() % 100 : random());
  }
  return out;
}

// NaNs may differ in payload and sign.
bool same_lane(uint64_t a, uint64_t b) { return a == b || (std::isnan(lane::f(a)) && std::isnan(lane::f(b))); }

TEST(kernels, every_primitive_agrees_with_one_row_at_a_time) {
  ASSERT_GE(num_kernel_sets(), 1u);
  const auto a = interesting_lanes(chunk_rows, 1), any_b = interesting_lanes(chunk_rows, 2),
             c = interesting_lanes(chunk_rows, 3);
  std::vector<uint64_t> out(chunk_rows);
  for (size_t s = 0; s < num_kernel_sets(); ++s) {
    const kernel_set& set = kernel_set_at(s);
    for (size_t k = 0; k < num_opcodes; ++k) {
      const auto op = static_cast<opcode>(k);
      if (!is_numeric_op(op)) continue;
      std::vector<uint64_t> first = a, b = any_b;
      uint64_t m = 0, m2 = 0;
      // Decimals that don't become too large.
      if (may_fail(op))
        for (std::vector<uint64_t>* lanes : {&first, &b})
          for (uint64_t& lane : *lanes) lane &= 0x7fffffff;
      if (op == opcode::decimal_of_f)
        for (uint64_t& lane : first) lane = lane::bits(static_cast<double>(lane) / 7 - 1000);
      if (op == opcode::decimal_of_f || op == opcode::decimal_to_f || op == opcode::round_decimal) m = 100;
      if (op == opcode::select || op == opcode::not_b)
        for (uint64_t& lane : first) lane &= 1;
      if (op == opcode::part_of_day || op == opcode::part_of_clock || op == opcode::trunc_day ||
          op == opcode::trunc_us || op == opcode::unit_of_day || op == opcode::unit_of_us)
        m = 2;
      if (op == opcode::scaled) m = 1000;
      if (op == opcode::f_to_u) m = 0xffff;
      if (op == opcode::f_to_i) m = 0x7f;
      if (op == opcode::sign_extend) m = 56;
      if (op == opcode::div_u_magic) m = lane::magic_for(1000003, m2);
      for (size_t n : {size_t{0}, size_t{1}, size_t{7}, size_t{1023}, chunk_rows}) {
        std::fill(out.begin(), out.end(), 0x5a5a);
        set.lanes[k](out.data(), first.data(), b.data(), c.data(), m, m2, n);
        for (size_t i = 0; i < n; ++i)
          ASSERT_TRUE(same_lane(out[i], evaluate(op, first[i], b[i], c[i], m, m2)))
              << set.name << ' ' << to_string(op) << ' ' << first[i] << ' ' << b[i] << ' ' << c[i] << " -> " << out[i];
        for (size_t i = n; i < chunk_rows; ++i) ASSERT_EQ(out[i], 0x5a5au) << set.name << ' ' << to_string(op);
      }
      if (!is_binary(op)) continue;
      for (uint64_t right : {b[0], b[1], b[2], uint64_t{0}, uint64_t{7}, may_fail(op) ? 1 : ~uint64_t{0}}) {
        set.immediate[k](out.data(), first.data(), nullptr, nullptr, right, 0, chunk_rows);
        for (size_t i = 0; i < chunk_rows; ++i)
          ASSERT_TRUE(same_lane(out[i], evaluate(op, first[i], right, 0, 0, 0))) << set.name << ' ' << to_string(op);
      }
    }
  }
}

TEST(kernels, division_by_invariant_numbers_is_exact) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 2000; ++round) {
    uint64_t d = random() >> (random() % 63);
    if (round < 300) d = static_cast<uint64_t>(round);
    if (round % 7 == 0) d = ~uint64_t{0} - static_cast<uint64_t>(round / 7);
    if (d < 3 || (d & (d - 1)) == 0) continue;
    uint64_t shift = 0;
    const uint64_t magic = lane::magic_for(d, shift);
    for (uint64_t a : {uint64_t{0}, uint64_t{1}, d - 1, d, d + 1, 2 * d - 1, ~uint64_t{0}, ~uint64_t{0} - d,
                       ~uint64_t{0} / d * d, ~uint64_t{0} / d * d - 1, random(), random() >> 32})
      ASSERT_EQ(lane::div_magic(a, magic, shift), a / d) << a << " / " << d;
  }
}

TEST(kernels, fields_survive_the_way_into_lanes_and_back) {
  using record::type_kind;
  const auto lanes = interesting_lanes(chunk_rows, 5);
  std::vector<uint16_t> some;
  for (uint16_t i = 3; i < chunk_rows; i = static_cast<uint16_t>(i + 5)) some.push_back(i);
  for (size_t s = 0; s < num_kernel_sets(); ++s) {
    const kernel_set& set = kernel_set_at(s);
    for (auto kind : {type_kind::u8, type_kind::u16, type_kind::u24, type_kind::u32, type_kind::u40, type_kind::u48,
                      type_kind::u64, type_kind::i8, type_kind::i16, type_kind::i32, type_kind::i64, type_kind::f64,
                      type_kind::date, type_kind::timestamp}) {
      const size_t width = record::value_type::of(kind).num_bytes;
      for (size_t row_bytes : {width, 2 * width, width + 3}) {
        // Exactly as many bytes as the rows have: a sanitizer sees any step beyond.
        std::vector<std::byte> rows(1 + (chunk_rows - 1) * row_bytes + width, std::byte{0xee});
        std::byte* const field = rows.data() + 1;
        set.store[static_cast<size_t>(kind)](field, row_bytes, lanes.data(), chunk_rows);
        for (size_t i = 0; i < chunk_rows; ++i) {
          uint64_t stored = 0;
          std::memcpy(&stored, field + i * row_bytes, width);
          ASSERT_EQ(stored, width == 8 ? lanes[i] : lanes[i] & ((uint64_t{1} << (8 * width)) - 1));
        }
        std::vector<uint64_t> back(chunk_rows), picked(some.size());
        set.load[static_cast<size_t>(kind)](back.data(), field, row_bytes, nullptr, chunk_rows);
        const uint64_t shift = 64 - 8 * width;
        const bool is_signed = record::value_type::of(kind).has_sign();
        for (size_t i = 0; i < chunk_rows; ++i)
          ASSERT_EQ(back[i], is_signed ? lane::sign_extend(lanes[i], shift) : lanes[i] << shift >> shift) << set.name;
        set.load[static_cast<size_t>(kind)](picked.data(), field, row_bytes, some.data(), some.size());
        for (size_t i = 0; i < some.size(); ++i) ASSERT_EQ(picked[i], back[some[i]]);
      }
    }
  }
}

TEST(kernels, select_and_compact_rows) {
  std::mt19937_64 random(6);
  for (size_t s = 0; s < num_kernel_sets(); ++s) {
    const kernel_set& set = kernel_set_at(s);
    for (uint64_t one_in : {1, 2, 10, 1000000}) {
      std::vector<uint64_t> mask(chunk_rows), lanes(chunk_rows);
      std::vector<uint16_t> expected, positions(chunk_rows);
      for (size_t i = 0; i < chunk_rows; ++i) {
        mask[i] = random() % one_in == 0 ? 1 : 0;
        lanes[i] = 1000 + i;
        if (mask[i] != 0) expected.push_back(static_cast<uint16_t>(i));
      }
      const size_t kept = set.positions(positions.data(), mask.data(), chunk_rows);
      ASSERT_EQ(kept, expected.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), positions.begin()));
      set.compact(lanes.data(), positions.data(), kept);
      for (size_t i = 0; i < kept; ++i) ASSERT_EQ(lanes[i], 1000u + expected[i]);
      std::vector<uint64_t> numbers(chunk_rows);
      set.number_rows(numbers.data(), 50, positions.data(), kept);
      for (size_t i = 0; i < kept; ++i) ASSERT_EQ(numbers[i], 50u + expected[i]);
    }
  }
}

TEST(kernels, copy_ranges_of_rows) {
  for (size_t s = 0; s < num_kernel_sets(); ++s) {
    for (size_t num_bytes = 1; num_bytes <= 80; ++num_bytes) {
      const size_t from_bytes = num_bytes + 2, to_bytes = num_bytes + 5, n = 100;
      std::vector<std::byte> from(n * from_bytes), to(n * to_bytes, std::byte{0x77});
      for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31);
      const copy_kernel copy = kernel_set_at(s).copy(num_bytes);
      std::vector<uint16_t> many;  // enough for loops over several rows at once
      for (uint16_t i = 1; i < n; i = static_cast<uint16_t>(i + 2)) many.push_back(i);
      for (const std::vector<uint16_t>& rows : {std::vector<uint16_t>{1, 5, 6, 99}, many}) {
        copy(to.data() + 1, to_bytes, from.data() + 2, from_bytes, rows.data(), num_bytes, rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
          EXPECT_EQ(std::memcmp(to.data() + 1 + i * to_bytes, from.data() + 2 + rows[i] * from_bytes, num_bytes), 0);
          EXPECT_EQ(to[i * to_bytes], std::byte{0x77});
          EXPECT_EQ(to[i * to_bytes + 1 + num_bytes], std::byte{0x77});
        }
      }
      copy(to.data() + 1, to_bytes, from.data() + 2, from_bytes, nullptr, num_bytes, n - 1);
      for (size_t i = 0; i + 1 < n; ++i)
        EXPECT_EQ(std::memcmp(to.data() + 1 + i * to_bytes, from.data() + 2 + i * from_bytes, num_bytes), 0);
    }
  }
}

}  // namespace
}  // namespace flowrun::expr
