#include "engine/plan/order.h"

#include <gtest/gtest.h>

namespace flowrun::plan {
namespace {

const order src_dst = {{"src"}, {"dst"}};

TEST(Order, PrefixSatisfies) {
  EXPECT_TRUE(satisfies(src_dst, {}));
  EXPECT_TRUE(satisfies(src_dst, {{"src"}}));
  EXPECT_TRUE(satisfies(src_dst, src_dst));
  EXPECT_FALSE(satisfies(src_dst, {{"dst"}}));
  EXPECT_FALSE(satisfies({{"src"}}, src_dst));
  EXPECT_FALSE(satisfies({{"src", true}}, {{"src"}}));
}

TEST(Order, LastTermMayBeAPrefixOfBytes) {
  const order whole = {{"key"}};
  const order ten = {{"key", false, 0, 10}};
  EXPECT_TRUE(satisfies(whole, ten));
  EXPECT_TRUE(satisfies({{"key", false, 0, 20}}, ten));
  EXPECT_FALSE(satisfies(ten, whole));
  EXPECT_FALSE(satisfies({{"key", false, 0, 5}}, ten));
  EXPECT_FALSE(satisfies(whole, {{"key", false, 2, 10}}));
  // Rows that are equal in the prefix are sorted by the rest of the key, not by x.
  EXPECT_FALSE(satisfies({{"key"}, {"x"}}, {{"key", false, 0, 10}, {"x"}}));
}

TEST(Order, AdjacentInAnySequenceAndDirection) {
  EXPECT_TRUE(adjacent(src_dst, {"dst", "src"}));
  EXPECT_TRUE(adjacent({{"src", true}, {"dst"}}, {"src"}));
  EXPECT_TRUE(adjacent({}, {}));
  EXPECT_FALSE(adjacent({}, {"src"}));
  EXPECT_FALSE(adjacent(src_dst, {"dst"}));
  EXPECT_FALSE(adjacent({{"key", false, 0, 10}}, {"key"}));
  EXPECT_TRUE(adjacent({{"key", false, 0, 10}, {"key"}}, {"key"}));
  EXPECT_FALSE(adjacent({{"key", false, 0, 10}, {"x"}, {"key"}}, {"key"}));
}

TEST(Order, CarriedOverStopsAtTheFirstLostColumn) {
  EXPECT_EQ(carried_over(src_dst, {{"src", "node"}, {"dst", "to"}}), (order{{"node"}, {"to"}}));
  EXPECT_EQ(carried_over(src_dst, {{"src", "a"}, {"src", "b"}}), (order{{"a"}}));
  EXPECT_EQ(carried_over(src_dst, {{"src", "a"}, {"src", "src"}, {"dst", "dst"}}), src_dst);
  EXPECT_EQ(carried_over(src_dst, {{"dst", "dst"}}), order{});
  EXPECT_EQ(carried_over({{"key", true, 2, 4}}, {{"key", "k"}}), (order{{"k", true, 2, 4}}));
}

TEST(Order, Text) {
  EXPECT_EQ(to_string(order{}), "nothing");
  EXPECT_EQ(to_string(order{{"src"}, {"deg", true}, {"key", false, 0, 10}, {"k", true, 2, 3}}),
            "src, -deg, key[0:10], -k[2:5]");
}

}  // namespace
}  // namespace flowrun::plan
