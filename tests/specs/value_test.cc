#include "specs/value.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flowrun::specs {
namespace {

TEST(value, whole_numbers) {
  EXPECT_EQ(to_uint("0"), 0u);
  EXPECT_EQ(to_uint("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(to_uint("0x1F"), 31u);
  EXPECT_EQ(to_uint("0o17"), 15u);
  for (const char* wrong :
       {"", "-1", "+1", "1.0", "1 ", " 1", "010", "0x", "0xG", "0o8", "18446744073709551616", "1e3"})
    EXPECT_FALSE(to_uint(wrong)) << wrong;
  EXPECT_EQ(to_int("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(to_int("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(to_int("-0"), 0);
  for (const char* wrong : {"-", "--1", "9223372036854775808", "-9223372036854775809", "-007"})
    EXPECT_FALSE(to_int(wrong)) << wrong;
}

TEST(value, other_numbers) {
  EXPECT_EQ(to_double("-1.5e3"), -1500.0);
  for (const char* wrong : {"", "inf", "nan", "1e999", "1,5", "0x1p3", "1 "}) EXPECT_FALSE(to_double(wrong)) << wrong;
  EXPECT_EQ(to_bool("true"), true);
  EXPECT_EQ(to_bool("false"), false);
  for (const char* wrong : {"", "yes", "on", "True", "1"}) EXPECT_FALSE(to_bool(wrong)) << wrong;
}

TEST(value, kinds_and_keys) {
  Value v;
  EXPECT_TRUE(is_null(v));
  EXPECT_EQ(kind_name(v), "nothing");
  EXPECT_EQ(to_uint(v), std::nullopt);
  EXPECT_EQ(text(v), "");
  EXPECT_EQ(find(v, "a"), nullptr);
  Entry* entry = v.mutable_map()->add_entries();
  entry->set_key("a");
  entry->mutable_value()->mutable_scalar()->set_text("64MiB");
  EXPECT_EQ(kind_name(v), "a map");
  ASSERT_NE(find(v, "a"), nullptr);
  EXPECT_EQ(to_bytes(*find(v, "a")), uint64_t{64} << 20);
  EXPECT_EQ(find(v, "b"), nullptr);
  EXPECT_EQ(count_values(v), 2u);
  EXPECT_EQ(height(v), 1);
}

TEST(value, names) {
  for (const char* good : {"a", "_", "a-b", "A_9"}) EXPECT_TRUE(is_id(good)) << good;
  for (const char* bad : {"", "9", "-a", "a.b", "a b", "\xC3\xA4"}) EXPECT_FALSE(is_id(bad)) << bad;
  EXPECT_FALSE(is_column_name("a-b"));
  EXPECT_TRUE(is_column_name("a_b"));
}

TEST(value, a_value_from_the_command_line_stands_there) {
  Position position;
  position.set_line(3);
  position.set_column(4);
  EXPECT_EQ(where("job.yaml", position), (source_position{"job.yaml", 3, 4}));
  position.set_origin("--set a=b");
  EXPECT_EQ(where("job.yaml", position), (source_position{"--set a=b", 0, 0}));
}

}  // namespace
}  // namespace flowrun::specs
