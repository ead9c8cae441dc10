// What is known about loops, branches and calls before they run: types, orders, and faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operators/harness.h"

namespace flowrun::operators {
namespace {

using ::testing::HasSubstr;
using testing::faults_of;

TEST(loop, keeps_orders_that_hold_in_every_iteration) {
  // `cur` starts sorted by all columns, and goes on sorted by a only.
  const std::string nodes =
      "l: {op: loop, with: {carry: {cur: {rows: [{a: 1, b: 2}], type: {a: u32, b: u32}}}, body: {\n"
      "  s: {op: sort, in: cur, with: {by: [a, -b]}}}, next: {cur: s}, times: 3}}\n"
      "out: {op: test.sink, in: l.cur}\n";
  EXPECT_EQ(testing::output_of(nodes, "l", 0), "{a: u32, b: u32} by a");
  // What starts empty is sorted as what follows.
  EXPECT_EQ(testing::output_of("l: {op: loop, with: {carry: {cur: {rows: [], type: {a: u32}}}, body: {\n"
                               "  s: {op: sort, in: cur, with: {by: [-a]}}}, next: {cur: s}, times: 3}}\n"
                               "out: {op: test.sink, in: l.cur}\n",
                               "l", 0),
            "{a: u32} by -a");
  const auto faults = faults_of(
      "l: {op: loop, with: {carry: {cur: {rows: [{a: 1}], type: {a: u32}}}, body: {\n"
      "  g: {op: group, in: cur, with: {by: [a], let: {n: \"count()\"}}},\n"
      "  m: {op: map, in: g, with: {a: \"u32(a * 7)\"}}}, next: {cur: m}, times: 3}}\n"
      "out: {op: test.sink, in: l.cur}\n");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_THAT(faults[0], HasSubstr("2:22: 'group' needs equal a of 'cur' next to each other"));
}

TEST(loop, finds_faults) {
  const auto fault = [](const std::string& with) {
    const auto all = faults_of("a: {op: test.rows, with: {type: {x: u64}}}\nl: {op: loop, in: {a: a}, with: {" + with +
                               "}}\nout: {op: test.sink, in: l.scalars}\n");
    return all.empty() ? std::string("none") : all[0];
  };
  const std::string body = "body: {f: {op: filter, in: a, with: {where: \"x > 1\"}}}";
  EXPECT_THAT(fault("carry: {cur: {from: a}}, next: {cur: m}, times: 1, "
                    "body: {m: {op: map, in: cur, with: {y: x}}}"),
              HasSubstr("'cur' starts as {x: u64} and goes on as {y: u64}"));
  EXPECT_THAT(fault("carry: {n: {value: 1}}, next: {n: \"n / 2.0\"}, times: 1, collect: {o: f}, " + body),
              HasSubstr("'n' starts as u64 and goes on as f64"));
  EXPECT_THAT(fault("carry: {n: {}}, times: 1, collect: {o: f}, " + body), HasSubstr("what does 'n' start with?"));
  EXPECT_THAT(fault("carry: {n: {rows: []}}, times: 1, collect: {o: f}, " + body),
              HasSubstr("which columns does 'n' have?"));
  EXPECT_THAT(fault("carry: {n: {from: b}}, times: 1, collect: {o: f}, " + body),
              HasSubstr("the loop has no input 'b'"));
  EXPECT_THAT(fault("next: {m: f}, times: 1, collect: {o: f}, " + body), HasSubstr("the loop carries no 'm'"));
  EXPECT_THAT(fault("collect: {o: f}, " + body), HasSubstr("when does the loop end?"));
  EXPECT_THAT(fault("times: 1, " + body), HasSubstr("the rows of 'f' are never used"));
  EXPECT_THAT(fault("until: \"rows(g) == 0\", collect: {o: f}, " + body), HasSubstr("there is no node 'g'"));
  EXPECT_THAT(fault("until: \"f.y == 0\", collect: {o: f}, " + body), HasSubstr("'f' has no column 'y'"));
  EXPECT_THAT(fault("until: \"rows(f)\", collect: {o: f}, " + body), HasSubstr("the condition is u64"));
  EXPECT_THAT(fault("times: 1, collect: {o: f, scalars: f}, " + body), HasSubstr("an output 'scalars' already"));
  EXPECT_THAT(fault("carry: {n: {rows: [{x: 1, y: 2}], type: {x: u8}}}, times: 1, collect: {o: f}, " + body),
              HasSubstr("the rows have no column 'y'"));
  EXPECT_THAT(fault("times: 1, body: {w: {op: test.sink, in: a}}"), HasSubstr("'w' can't write inside of 'l'"));
}

}  // namespace
}  // namespace flowrun::operators
