#include "engine/record/row_type.h"

#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "tests/support/random_rows.h"

namespace flowrun::record {
namespace {

TEST(row_type, packs_columns_without_padding) {
  const row_type type = type_of({{"a", "u8"}, {"b", "u64"}, {"c", "u24"}, {"d", "bytes[10]"}, {"e", "f64"}});
  EXPECT_EQ(type[0].offset, 0U);
  EXPECT_EQ(type[1].offset, 1U);
  EXPECT_EQ(type[2].offset, 9U);
  EXPECT_EQ(type[3].offset, 12U);
  EXPECT_EQ(type[4].offset, 22U);
  EXPECT_EQ(type.row_bytes(), 30U);
  EXPECT_EQ(type.num_columns(), 5U);
  EXPECT_FALSE(type.has_strings());
  EXPECT_TRUE(type_of({{"a", "u8"}, {"s", "string"}}).has_strings());
  EXPECT_EQ(type_of({{"a", "u8"}, {"s", "string"}}).row_bytes(), 9U);
}

TEST(row_type, has_a_longest_row) {
  std::vector<column> columns;
  for (int i = 0; i < 16'384; ++i) columns.push_back({std::to_string(i), value_type::fixed_bytes(max_fixed_bytes)});
  EXPECT_EQ(row_type(columns).row_bytes(), uint32_t{1} << 30);
  columns.push_back({"one more", value_type::of(type_kind::u8)});
  EXPECT_THROW(row_type{columns}, error);
}

TEST(row_type, finds_columns_by_name) {
  const row_type type = type_of({{"src", "u64"}, {"dst", "u32"}});
  EXPECT_EQ(type.index_of("src"), 0U);
  EXPECT_EQ(type.index_of("dst"), 1U);
  EXPECT_EQ(type.index_of("ds"), std::nullopt);
  EXPECT_EQ(type.names(), (std::vector<std::string>{"src", "dst"}));
}

TEST(row_type, prints_as_in_a_job) {
  EXPECT_EQ(to_string(type_of({{"src", "u64"}, {"name", "bytes[3]"}})), "{src: u64, name: bytes[3]}");
  EXPECT_EQ(to_string(row_type()), "{}");
}

TEST(row_type, equality_looks_at_names_and_types) {
  EXPECT_EQ(type_of({{"a", "u8"}}), type_of({{"a", "u8"}}));
  EXPECT_NE(type_of({{"a", "u8"}}), type_of({{"b", "u8"}}));
  EXPECT_NE(type_of({{"a", "u8"}}), type_of({{"a", "i8"}}));
}

}  // namespace
}  // namespace flowrun::record
