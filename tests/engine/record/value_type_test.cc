#include "engine/record/value_type.h"

#include <gtest/gtest.h>

#include <sstream>

#include "engine/base/error.h"

namespace flowrun::record {
namespace {

TEST(value_type, names_and_widths_go_both_ways) {
  const std::vector<std::pair<std::string, uint32_t>> widths = {
      {"bool", 1},       {"u8", 1},   {"u16", 2},       {"u24", 3},
      {"u32", 4},        {"u40", 5},  {"u48", 6},       {"u64", 8},
      {"i8", 1},         {"i16", 2},  {"i32", 4},       {"i64", 8},
      {"f32", 4},        {"f64", 8},  {"bytes[1]", 1},  {"bytes[65536]", 65536},
      {"string", 8},     {"date", 4}, {"timestamp", 8}, {"decimal[0]", 8},
      {"decimal[18]", 8}};
  for (const auto& [name, num_bytes] : widths) {
    const auto type = parse_value_type(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(type->num_bytes, num_bytes) << name;
    EXPECT_EQ(to_string(*type), name);
    if (!type->is_bytes() && !type->is_decimal()) {
      EXPECT_EQ(value_type::of(type->kind), *type);
    }
  }
}

TEST(value_type, each_named_type_parses) {
  std::istringstream names{std::string(value_type_names())};
  int count = 0;
  for (std::string name; names >> name; ++count) {
    if (name == "bytes[N]") name = "bytes[7]";
    if (name == "decimal[S]") name = "decimal[2]";
    EXPECT_TRUE(parse_value_type(name)) << name;
  }
  EXPECT_EQ(count, 19);
}

TEST(value_type, refuses_everything_else) {
  for (const char* text : {"",
                           "U64",
                           "u7",
                           "u128",
                           "int",
                           "bytes",
                           "bytes[]",
                           "bytes[0]",
                           "bytes[65537]",
                           "bytes[1000000]",
                           "bytes[-1]",
                           "bytes[+1]",
                           "bytes[ 1]",
                           "bytes[1 ]",
                           "bytes[1",
                           "bytes[1]]",
                           "bytes[99999999999999999999]",
                           "bytes[0x4]",
                           "decimal",
                           "decimal[]",
                           "decimal[19]",
                           "decimal[-1]",
                           "decimal(12,2)",
                           "string ",
                           " u8"})
    EXPECT_FALSE(parse_value_type(text)) << text;
}

TEST(value_type, families) {
  auto is = [](const char* name, auto member) { return (*parse_value_type(name).*member)(); };
  EXPECT_TRUE(is("u24", &value_type::is_unsigned));
  EXPECT_FALSE(is("i8", &value_type::is_unsigned));
  EXPECT_TRUE(is("i8", &value_type::is_signed));
  EXPECT_FALSE(is("bool", &value_type::is_number));
  EXPECT_FALSE(is("bool", &value_type::is_integer));
  EXPECT_TRUE(is("f32", &value_type::is_number));
  EXPECT_FALSE(is("f32", &value_type::is_integer));
  EXPECT_TRUE(is("bytes[3]", &value_type::is_text));
  EXPECT_TRUE(is("string", &value_type::is_text));
  EXPECT_FALSE(is("string", &value_type::is_bytes));
  EXPECT_TRUE(is("date", &value_type::is_time));
  EXPECT_TRUE(is("timestamp", &value_type::has_sign));
  EXPECT_TRUE(is("i32", &value_type::has_sign));
  EXPECT_FALSE(is("u32", &value_type::has_sign));
  EXPECT_FALSE(is("date", &value_type::is_number));
  EXPECT_TRUE(is("decimal[2]", &value_type::has_sign));
  EXPECT_FALSE(is("decimal[2]", &value_type::is_number));
  EXPECT_EQ(*parse_value_type("decimal[2]"), value_type::decimal(2));
  EXPECT_NE(value_type::decimal(3), value_type::decimal(2));
}

TEST(value_type, bytes_have_no_width_of_their_own) { EXPECT_THROW(value_type::of(type_kind::bytes), error); }

}  // namespace
}  // namespace flowrun::record
