#include "engine/record/key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/error.h"
#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

// A row of one column from a value.
template <class Value>
std::vector<std::byte> field(Value value, uint32_t num_bytes = sizeof(Value)) {
  std::vector<std::byte> out(num_bytes);
  std::memcpy(out.data(), &value, num_bytes);
  return out;
}

int sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

// Each row must come before all that follow it: for the comparator, for the prefix, and the other way round descending.
void expect_ascending(const row_type& type, const std::vector<std::vector<std::byte>>& rows) {
  const row_comparator up(type, {{0, false, 0, 0}});
  const row_comparator down(type, {{0, true, 0, 0}});
  const key_prefix up_prefix(type, {{0, false, 0, 0}});
  const key_prefix down_prefix(type, {{0, true, 0, 0}});
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows.size(); ++j) {
      const int expected = i < j ? -1 : i > j ? 1 : 0;
      EXPECT_EQ(sign(up.compare(rows[i].data(), nullptr, rows[j].data(), nullptr)), expected) << i << " " << j;
      EXPECT_EQ(sign(down.compare(rows[i].data(), nullptr, rows[j].data(), nullptr)), -expected) << i << " " << j;
      EXPECT_EQ(up.equal(rows[i].data(), nullptr, rows[j].data(), nullptr), i == j);
      EXPECT_EQ(up_prefix(rows[i].data(), nullptr) < up_prefix(rows[j].data(), nullptr), i < j) << i << " " << j;
      EXPECT_EQ(down_prefix(rows[i].data(), nullptr) < down_prefix(rows[j].data(), nullptr), j < i) << i << " " << j;
    }
  }
}

TEST(key, unsigned_numbers_by_value) {
  const std::vector<std::pair<const char*, uint32_t>> types = {{"u8", 1},  {"u16", 2}, {"u24", 3}, {"u32", 4},
                                                               {"u40", 5}, {"u48", 6}, {"u64", 8}};
  for (const auto& [name, num_bytes] : types) {
    const uint64_t most = num_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * num_bytes)) - 1;
    std::vector<std::vector<std::byte>> rows;
    for (uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, most / 2 + 3, most - 1, most})
      rows.push_back(field(value, num_bytes));
    expect_ascending(type_of({{"k", name}}), rows);
  }
  expect_ascending(type_of({{"k", "bool"}}), {field<uint8_t>(0), field<uint8_t>(1)});
}

template <class Signed>
void expect_signed_order(const char* name) {
  std::vector<std::vector<std::byte>> rows;
  for (Signed value : {std::numeric_limits<Signed>::min(), static_cast<Signed>(std::numeric_limits<Signed>::min() + 1),
                       Signed{-1}, Signed{0}, Signed{1}, std::numeric_limits<Signed>::max()})
    rows.push_back(field(value));
  expect_ascending(type_of({{"k", name}}), rows);
}

TEST(key, signed_numbers_by_value) {
  expect_signed_order<int8_t>("i8");
  expect_signed_order<int16_t>("i16");
  expect_signed_order<int32_t>("i32");
  expect_signed_order<int64_t>("i64");
}

template <class Float, class Bits>
void expect_total_order(const char* name) {
  using limits = std::numeric_limits<Float>;
  const Bits quiet = std::bit_cast<Bits>(limits::quiet_NaN()) & (~Bits{0} >> 1);
  const Bits negative = Bits{1} << (8 * sizeof(Bits) - 1);
  std::vector<std::vector<std::byte>> rows = {field<Bits>(~Bits{0}), field<Bits>(quiet | negative)};
  for (Float value :
       {-limits::infinity(), limits::lowest(), Float{-1}, -limits::min(), -limits::denorm_min(), -Float{0}, Float{0},
        limits::denorm_min(), limits::min(), Float{1}, limits::max(), limits::infinity()})
    rows.push_back(field(value));
  rows.push_back(field<Bits>(quiet));
  rows.push_back(field<Bits>(~negative));
  expect_ascending(type_of({{"k", name}}), rows);
}

TEST(key, floats_by_total_order) {
  expect_total_order<float, uint32_t>("f32");
  expect_total_order<double, uint64_t>("f64");
}

TEST(key, order_bits_go_both_ways) {
  std::mt19937_64 random(3);
  for (const char* name :
       {"bool", "u8", "u16", "u24", "u32", "u40", "u48", "u64", "i8", "i16", "i32", "i64", "f32", "f64"}) {
    const value_type type = *parse_value_type(name);
    const uint64_t mask = type.num_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * type.num_bytes)) - 1;
    for (int i = 0; i < 1000; ++i) {
      const uint64_t bits = i == 0 ? 0 : i == 1 ? mask : random() & mask;
      const uint64_t ordered = order_bits(type.kind, type.num_bytes, bits);
      EXPECT_EQ(ordered & ~mask, 0U) << name;
      EXPECT_EQ(from_order_bits(type.kind, type.num_bytes, ordered), bits) << name;
    }
  }
}

TEST(key, bytes_from_the_left) {
  std::vector<std::vector<std::byte>> rows;
  using namespace std::string_view_literals;
  for (const std::string_view text : {"\x00\x00\x00"sv, "\x00\x00\x01"sv, "a\x00\x00"sv, "a\x00\xFF"sv, "aaa"sv,
                                      "ab\x00"sv, "\x80\x00\x00"sv, "\xFF\xFF\xFF"sv}) {
    std::vector<std::byte> row(20, std::byte{0});
    std::memcpy(row.data(), text.data(), text.size());
    rows.push_back(row);
  }
  expect_ascending(type_of({{"k", "bytes[20]"}}), rows);
}

batch strings_batch(const row_type& type, batch_pool& pool, const std::vector<std::string>& texts) {
  batch_builder builder(type, pool, rows_of_any_length(size_t{1} << 24));
  for (const std::string& text : texts) builder.put_string(builder.append(), text);
  return builder.take();
}

TEST(key, strings_from_the_left_and_shorter_ones_first) {
  batch_pool pool;
  const row_type type = type_of({{"s", "string"}});
  const std::vector<std::string> texts = {"",
                                          std::string("\0", 1),
                                          std::string("\0\0", 2),
                                          std::string("\0\1", 2),
                                          std::string("\0\xFF", 2),
                                          "\1",
                                          "a",
                                          std::string("a\0", 2),
                                          std::string("a\0\0", 3),
                                          std::string("a\0b", 3),
                                          "a\1",
                                          "aa",
                                          "ab",
                                          std::string(15, 'b'),
                                          std::string(16, 'b'),
                                          std::string(17, 'b'),
                                          "\x7F",
                                          "\x80",
                                          "\xFF",
                                          "\xFF\xFF"};
  const batch rows = strings_batch(type, pool, texts);
  for (const bool descending : {false, true}) {
    const key by = {{0, descending, 0, 0}};
    const row_comparator comparator(type, by);
    const key_prefix prefix(type, by);
    EXPECT_FALSE(prefix.whole());
    EXPECT_FALSE(prefix.whole_in_12());
    for (size_t i = 0; i < texts.size(); ++i) {
      for (size_t j = 0; j < texts.size(); ++j) {
        const int expected = (i < j ? -1 : i > j ? 1 : 0) * (descending ? -1 : 1);
        EXPECT_EQ(sign(comparator.compare(rows.row(i), rows.heap, rows.row(j), rows.heap)), expected) << i << " " << j;
        const word128 a = prefix(rows.row(i), rows.heap), b = prefix(rows.row(j), rows.heap);
        if (expected < 0) {
          EXPECT_LE(a, b) << i << " " << j;
        }
        const bool told_apart_by_16_bytes = std::max(texts[i].size(), texts[j].size()) <= 7;
        if (expected != 0 && told_apart_by_16_bytes) {
          EXPECT_NE(a, b) << i << " " << j;
        }
      }
    }
  }
}

TEST(key, a_string_part_ends_before_the_next_part_begins) {
  batch_pool pool;
  const row_type type = type_of({{"s", "string"}, {"n", "u16"}});
  batch_builder builder(type, pool, rows_of_any_length());
  const std::vector<std::pair<std::string, uint16_t>> values = {
      {"a", 0xFFFF}, {std::string("a\0", 2), 0}, {"aa", 0}, {"aa", 1}, {"ab", 0}};
  for (const auto& [text, number] : values) {
    std::byte* row = builder.append();
    builder.put_string(row, text);
    std::memcpy(row + 8, &number, 2);
  }
  const batch rows = builder.take();
  const key_prefix prefix(type, {{0, false, 0, 0}, {1, false, 0, 0}});
  for (size_t i = 1; i < rows.num_rows; ++i)
    EXPECT_LT(prefix(rows.row(i - 1), rows.heap), prefix(rows.row(i), rows.heap)) << i;
}

TEST(key, slices_of_bytes) {
  const row_type type = type_of({{"n", "u16"}, {"b", "bytes[8]"}});
  std::vector<std::byte> a(10), b(10);
  std::memcpy(a.data() + 2, "xxAByyCD", 8);
  std::memcpy(b.data() + 2, "zzABaaCE", 8);
  auto compare = [&](const key& by) {
    return sign(row_comparator(type, by).compare(a.data(), nullptr, b.data(), nullptr));
  };
  EXPECT_EQ(compare({{1, false, 2, 2}}), 0);
  EXPECT_EQ(compare({{1, false, 2, 2}, {1, false, 6, 2}}), -1);
  EXPECT_EQ(compare({{1, false, 2, 2}, {1, true, 6, 2}}), 1);
  EXPECT_EQ(compare({{1, false, 4, 4}}), 1);
}

TEST(key, compares_rows_of_two_types) {
  batch_pool pool;
  const row_type left = type_of({{"x", "u8"}, {"k", "i32"}, {"s", "string"}});
  const row_type right = type_of({{"s", "string"}, {"k", "i32"}});
  batch_builder left_builder(left, pool, rows_of_any_length()), right_builder(right, pool, rows_of_any_length());
  auto put_left = [&](int32_t k, const char* s) {
    std::byte* row = left_builder.append();
    std::memcpy(row + 1, &k, 4);
    left_builder.put_string(row + 5, s);
  };
  auto put_right = [&](int32_t k, const char* s) {
    std::byte* row = right_builder.append();
    std::memcpy(row + 8, &k, 4);
    right_builder.put_string(row, s);
  };
  put_left(-5, "b");
  put_right(-5, "b");
  put_right(-5, "c");
  put_right(-6, "z");
  const batch l = left_builder.take(), r = right_builder.take();
  const row_comparator comparator(left, {{1, false, 0, 0}, {2, true, 0, 0}}, right,
                                  {{1, false, 0, 0}, {0, true, 0, 0}});
  EXPECT_EQ(comparator.compare(l.row(0), l.heap, r.row(0), r.heap), 0);
  EXPECT_GT(comparator.compare(l.row(0), l.heap, r.row(1), r.heap), 0);
  EXPECT_GT(comparator.compare(l.row(0), l.heap, r.row(2), r.heap), 0);
  EXPECT_THROW(row_comparator(left, {{0, false, 0, 0}}, right, {{1, false, 0, 0}}), error);
  EXPECT_THROW(row_comparator(left, {{1, false, 0, 0}}, right, {{1, true, 0, 0}}), error);
}

TEST(key, prefix_knows_when_it_is_the_whole_key) {
  const row_type type = type_of({{"a", "u64"}, {"b", "u64"}, {"c", "u8"}, {"d", "bytes[12]"}});
  auto made = [&](const key& by) { return key_prefix(type, by); };
  EXPECT_TRUE(made({{0, false, 0, 0}, {1, true, 0, 0}}).whole());
  EXPECT_FALSE(made({{0, false, 0, 0}, {1, true, 0, 0}}).whole_in_12());
  EXPECT_FALSE(made({{0, false, 0, 0}, {1, true, 0, 0}, {2, false, 0, 0}}).whole());
  EXPECT_TRUE(made({{3, false, 0, 0}}).whole_in_12());
  EXPECT_TRUE(made({{0, false, 0, 0}, {3, false, 4, 4}}).whole_in_12());
}

// For every key: the prefix never contradicts the comparator, and a prefix that is the whole key says the same.
TEST(key, prefix_and_comparator_agree_on_random_rows) {
  batch_pool pool;
  random_rows source;
  const row_type type = type_of({{"a", "i16"},
                                 {"s", "string"},
                                 {"f", "f32"},
                                 {"b", "bytes[11]"},
                                 {"u", "u40"},
                                 {"t", "string"},
                                 {"g", "f64"},
                                 {"o", "bool"}});
  for (int round = 0; round < 60; ++round) {
    source.distinct = round % 3 == 0 ? 0 : static_cast<uint64_t>(2 + round % 5);
    source.max_string_bytes = round % 2 == 0 ? 3 : 20;
    source.string_prefix = round % 4 == 3 ? std::string(13, 'p') : "";
    const batch rows = source.one_batch(type, pool, 60);
    key by;
    for (size_t part = 0; part < 1 + source.below(4); ++part) {
      key_part p{source.below(type.num_columns()), source.below(2) == 1, 0, 0};
      if (type[p.column].type.is_bytes() && source.below(2) == 1) {
        p.from = static_cast<uint32_t>(source.below(11));
        p.length = 1 + static_cast<uint32_t>(source.below(11 - p.from));
      }
      by.push_back(p);
    }
    const row_comparator comparator(type, by);
    const key_prefix prefix(type, by);
    for (size_t i = 0; i < rows.num_rows; ++i) {
      for (size_t j = 0; j < rows.num_rows; ++j) {
        const int order = sign(comparator.compare(rows.row(i), rows.heap, rows.row(j), rows.heap));
        ASSERT_EQ(order, -sign(comparator.compare(rows.row(j), rows.heap, rows.row(i), rows.heap)));
        const word128 a = prefix(rows.row(i), rows.heap), b = prefix(rows.row(j), rows.heap);
        if (a < b) {
          ASSERT_LT(order, 0);
        }
        if (prefix.whole()) {
          ASSERT_EQ(order, a < b ? -1 : a > b ? 1 : 0);
        }
        if (prefix.whole_in_12()) {
          ASSERT_EQ(order, a >> 32 < b >> 32 ? -1 : a >> 32 > b >> 32 ? 1 : 0);
        }
      }
    }
  }
}

// The prefixes of rows next to each other are those of each row by itself, and have no bits where they say so.
TEST(key, prefixes_of_a_batch) {
  batch_pool pool;
  random_rows source;
  const row_type type = type_of({{"a", "i16"},
                                 {"u", "u40"},
                                 {"f", "f64"},
                                 {"s", "string"},
                                 {"b", "bytes[11]"},
                                 {"v", "u24"},
                                 {"w", "u64"},
                                 {"x", "u8"},
                                 {"y", "i32"},
                                 {"z", "u48"},
                                 {"o", "bool"}});
  for (int round = 0; round < 200; ++round) {
    const batch rows = source.one_batch(type, pool, 300);
    key by;
    for (size_t part = 0; part < 1 + source.below(4); ++part)
      by.push_back({source.below(type.num_columns()), source.below(2) == 1, 0, 0});
    const key_prefix prefix(type, by);
    std::vector<word128> all(rows.num_rows);
    prefix(rows.row(0), rows.num_rows, rows.row_bytes, rows.heap, all.data());
    for (size_t i = 0; i < rows.num_rows; ++i) {
      ASSERT_TRUE(all[i] == prefix(rows.row(i), rows.heap)) << "row " << i << ", round " << round;
      ASSERT_TRUE(all[i] >> prefix.unused_bits() << prefix.unused_bits() == all[i]);
    }
  }
}

}  // namespace
}  // namespace flowrun::record
