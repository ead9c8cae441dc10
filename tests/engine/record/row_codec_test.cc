#include "engine/record/row_codec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

int sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

// The key, then all columns: what comparing the numbers must come to.
key key_then_all(const row_type& type, key by) {
  for (size_t i = 0; i < type.num_columns(); ++i) by.push_back({i, false, 0, 0});
  return by;
}

template <class Word>
void expect_faithful(const row_type& type, const key& by, const batch& rows) {
  const row_codec codec(type, by);
  ASSERT_EQ(codec.row_bytes(), type.row_bytes());
  std::vector<Word> words(rows.num_rows);
  codec.encode(rows.rows, rows.num_rows, words.data());

  std::vector<std::byte> decoded(rows.num_rows * type.row_bytes());
  codec.decode(words.data(), rows.num_rows, decoded.data());
  ASSERT_EQ(std::memcmp(decoded.data(), rows.rows, decoded.size()), 0) << to_string(type);

  const uint32_t bits = 8 * type.row_bytes();
  if (bits < 8 * sizeof(Word)) {
    for (Word word : words) ASSERT_EQ(word >> bits, Word{0}) << to_string(type);
  }
  std::vector<std::byte> packed(rows.num_rows * type.row_bytes());
  std::vector<Word> unpacked(rows.num_rows);
  codec.pack(words.data(), rows.num_rows, packed.data());
  codec.unpack(packed.data(), rows.num_rows, unpacked.data());
  ASSERT_TRUE(words == unpacked) << to_string(type);

  const row_comparator whole(type, key_then_all(type, by));
  const row_comparator by_key(type, by);
  const uint32_t rest_bits = bits - codec.key_bits();
  const size_t count = std::min<size_t>(rows.num_rows, 80);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) {
      const int expected = sign(whole.compare(rows.row(i), nullptr, rows.row(j), nullptr));
      ASSERT_EQ(words[i] < words[j] ? -1 : words[i] > words[j] ? 1 : 0, expected) << to_string(type);
      const Word a = rest_bits == 8 * sizeof(Word) ? Word{0} : words[i] >> rest_bits;
      const Word b = rest_bits == 8 * sizeof(Word) ? Word{0} : words[j] >> rest_bits;
      ASSERT_EQ(a < b   ? -1
                : a > b ? 1
                        : 0,
                sign(by_key.compare(rows.row(i), nullptr, rows.row(j), nullptr)))
          << to_string(type);
    }
  }
}

TEST(row_codec, fits_rows_of_1_to_16_bytes_without_strings) {
  EXPECT_TRUE(row_codec::fits(type_of({{"a", "u8"}})));
  EXPECT_TRUE(row_codec::fits(type_of({{"a", "bytes[16]"}})));
  EXPECT_FALSE(row_codec::fits(type_of({{"a", "bytes[17]"}})));
  EXPECT_FALSE(row_codec::fits(type_of({{"a", "string"}})));
  EXPECT_FALSE(row_codec::fits(row_type()));
}

// A random row type of exactly `row_bytes` bytes.
row_type random_type(random_rows& source, uint32_t row_bytes) {
  static const std::vector<const char*> names = {"bool", "u8", "u16", "u24", "u32", "u40", "u48",
                                                 "u64",  "i8", "i16", "i32", "i64", "f32", "f64"};
  std::vector<column> columns;
  for (uint32_t left = row_bytes; left > 0;) {
    value_type type = *parse_value_type(names[source.below(names.size())]);
    if (source.below(3) == 0) type = value_type::fixed_bytes(1 + static_cast<uint32_t>(source.below(left)));
    if (type.num_bytes > left) continue;
    columns.push_back({"c" + std::to_string(columns.size()), type});
    left -= type.num_bytes;
  }
  return row_type(std::move(columns));
}

// Columns and slices of bytes in any order, overlapping and repeated.
key random_key(random_rows& source, const row_type& type) {
  key by;
  const uint64_t num_parts = source.below(6);
  for (uint64_t i = 0; i < num_parts; ++i) {
    key_part p{source.below(type.num_columns()), source.below(2) == 1, 0, 0};
    const value_type column = type[p.column].type;
    if (column.is_bytes() && source.below(3) > 0) {
      p.from = static_cast<uint32_t>(source.below(column.num_bytes));
      p.length = 1 + static_cast<uint32_t>(source.below(column.num_bytes - p.from));
    }
    by.push_back(p);
  }
  return by;
}

TEST(row_codec, is_one_to_one_and_keeps_order_for_all_widths) {
  batch_pool pool;
  random_rows source;
  for (uint32_t row_bytes = 1; row_bytes <= 16; ++row_bytes) {
    for (int round = 0; round < 25; ++round) {
      const row_type type = random_type(source, row_bytes);
      const key by = random_key(source, type);
      source.distinct = round % 2 == 0 ? 0 : 3;
      const batch rows = source.one_batch(type, pool, round == 0 ? 3000 : 100);
      if (row_bytes <= 8) expect_faithful<uint64_t>(type, by, rows);
      expect_faithful<word128>(type, by, rows);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(row_codec, overlapping_slices_take_each_byte_once) {
  batch_pool pool;
  random_rows source;
  source.distinct = 4;
  const row_type type = type_of({{"n", "u8"}, {"b", "bytes[14]"}});
  const batch rows = source.one_batch(type, pool, 200);
  const key by = {{1, false, 3, 4}, {1, true, 1, 8}, {1, false, 5, 2}, {1, false, 0, 14}};
  EXPECT_EQ(row_codec(type, by).key_bits(), 14U * 8);
  expect_faithful<word128>(type, by, rows);
}

TEST(row_codec, counts_key_bits) {
  const row_type type = type_of({{"a", "u32"}, {"b", "u24"}, {"c", "bool"}});
  EXPECT_EQ(row_codec(type, {}).key_bits(), 0U);
  EXPECT_EQ(row_codec(type, {{1, false, 0, 0}}).key_bits(), 24U);
  EXPECT_EQ(row_codec(type, {{1, false, 0, 0}, {1, true, 0, 0}, {0, false, 0, 0}}).key_bits(), 56U);
}

TEST(row_codec, only_a_lone_unsigned_u64_is_its_own_number) {
  EXPECT_TRUE(row_codec(type_of({{"a", "u64"}}), {{0, false, 0, 0}}).is_identity());
  EXPECT_FALSE(row_codec(type_of({{"a", "u64"}}), {{0, true, 0, 0}}).is_identity());
  EXPECT_FALSE(row_codec(type_of({{"a", "i64"}}), {{0, false, 0, 0}}).is_identity());
  EXPECT_FALSE(row_codec(type_of({{"a", "u40"}}), {{0, false, 0, 0}}).is_identity());
  EXPECT_FALSE(row_codec(type_of({{"a", "u32"}, {"b", "u32"}}), {{0, false, 0, 0}}).is_identity());
}

TEST(row_codec, takes_rows_at_any_address_and_none_at_all) {
  const row_type type = type_of({{"a", "u64"}});
  const row_codec codec(type, {{0, false, 0, 0}});
  std::vector<std::byte> bytes(1 + 3 * 8);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  uint64_t words[3] = {};
  codec.encode(bytes.data() + 1, 3, words);
  EXPECT_EQ(words[0], 0x0807060504030201U);
  EXPECT_EQ(words[2], 0x1817161514131211U);
  codec.encode(nullptr, 0, words);
  codec.decode(static_cast<const uint64_t*>(nullptr), 0, nullptr);
  EXPECT_EQ(words[0], 0x0807060504030201U);
}

}  // namespace
}  // namespace flowrun::record
