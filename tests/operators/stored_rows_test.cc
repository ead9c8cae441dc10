// reverse and partition: rows that are stored and come out in another order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string rows_in = "in: {op: test.rows, with: {type: {k: u8, i: i32, s: string}}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

struct row {
  unsigned k;
  size_t i;
};
std::vector<row> random_rows(size_t count, unsigned num_keys) {
  std::mt19937_64 random(count);
  std::vector<row> out;
  for (size_t i = 0; i < count; ++i) out.push_back({static_cast<unsigned>(random() % num_keys), i});
  return out;
}
rows as_text(const std::vector<row>& some) {
  rows out;
  for (const row& r : some) out.push_back(fmt::format("{},{},{}", r.k, r.i, std::string(r.i % 31, 'x')));
  return out;
}

TEST(reverse, turns_the_rows_round) {
  for (const size_t count : {0U, 1U, 3000U}) {
    const rows in = as_text(random_rows(count, 100));
    EXPECT_EQ(run_all_ways(rows_in + "x: {op: reverse, in: in}\n" + out_of_x, {{"in", in}}),
              rows(in.rbegin(), in.rend()));
  }
}

TEST(reverse, turns_the_order_round) {
  EXPECT_EQ(output_of("in: {op: test.rows, with: {type: {a: u8, b: u8}, sorted_by: [a, -b]}}\n"
                      "x: {op: reverse, in: in}\n" +
                          out_of_x,
                      "x"),
            "{a: u8, b: u8} by -a, b");
}

TEST(partition, groups_by_bucket_and_keeps_the_order_in_each) {
  for (const unsigned num_keys : {1U, 5U, 200U}) {
    std::vector<row> some = random_rows(3000, num_keys);
    const rows in = as_text(some);
    std::stable_sort(some.begin(), some.end(), [](const row& a, const row& b) { return a.k < b.k; });
    const std::string with = fmt::format("with: {{by: k, buckets: {}}}", num_keys);
    EXPECT_EQ(run_all_ways(rows_in + "x: {op: partition, in: in, " + with + "}\n" + out_of_x, {{"in", in}}),
              as_text(some));
  }
  const rows in = as_text(random_rows(10, 3));
  EXPECT_EQ(run_all_ways(rows_in + "x: {op: partition, in: in, with: {by: 'row_number % 2', buckets: 2}}\n" + out_of_x,
                         {{"in", in}}),
            (rows{in[0], in[2], in[4], in[6], in[8], in[1], in[3], in[5], in[7], in[9]}));
}

TEST(partition, knows_the_order_that_a_column_makes) {
  const auto order = [](const std::string& by) {
    return output_of(
        "in: {op: test.rows, with: {type: {a: u8, b: u8}, sorted_by: [a, -b]}}\n"
        "x: {op: partition, in: in, with: {by: '" +
            by + "', buckets: 256}}\n" + out_of_x,
        "x");
  };
  EXPECT_EQ(order("b"), "{a: u8, b: u8} by b, a");
  EXPECT_EQ(order("a"), "{a: u8, b: u8} by a, -b");
  EXPECT_EQ(order("a + 1"), "{a: u8, b: u8} by nothing");
}

TEST(partition, names_the_row_without_a_bucket) {
  const auto problem = [](const std::string& by) {
    try {
      run(rows_in + "x: {op: partition, in: in, with: {by: '" + by + "', buckets: 3}}\n" + out_of_x,
          {{"in", {"0,5,a", "2,7,b", "3,-1,c"}}});
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      return std::string(e.what());
    }
    ADD_FAILURE() << "no error";
    return std::string();
  };
  EXPECT_THAT(problem("k"), HasSubstr("node 'x': row 2 goes to bucket 3, but there are only buckets 0 to 2"));
  EXPECT_THAT(problem("i % 3"), HasSubstr("row 2 goes to bucket -1"));
}

TEST(partition, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(rows_in + "x: {op: partition, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("by: k, buckets: 65536"), IsEmpty());
  EXPECT_THAT(faults("by: s, buckets: 2"), ElementsAre(HasSubstr("is string")));
  EXPECT_THAT(faults("by: k, buckets: 0"), ElementsAre(HasSubstr("there can't be 0 buckets")));
  EXPECT_THAT(faults("by: k, buckets: 65537"), ElementsAre(HasSubstr("there can't be 65537 buckets")));
  EXPECT_THAT(faults("by: k"), ElementsAre(HasSubstr("buckets")));
}

}  // namespace
}  // namespace flowrun::operators::testing
