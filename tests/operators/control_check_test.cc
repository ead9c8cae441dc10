// What is known about loops, branches and calls before they run: types, orders, and faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operators/harness.h"

namespace flowrun::operators {
namespace {

using testing::faults_of;
using ::testing::HasSubstr;

TEST(control, keeps_orders_that_hold_in_every_iteration) {
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

TEST(control, holds_declared_orders) {
  const auto loop = [](const std::string& carry, const std::string& body) {
    return "a: {op: test.rows, with: {type: {x: u64, y: u64}, sorted_by: [x]}}\n"
           "l: {op: loop, in: {a: a}, with: {carry: {cur: {" +
           carry + "}}, body: {\n  " + body + "}, next: {cur: n}, times: 3}}\nout: {op: test.sink, in: l.cur}\n";
  };
  const auto fault = [&](const std::string& carry, const std::string& body) {
    const auto all = faults_of(loop(carry, body));
    EXPECT_LE(all.size(), 1U);
    return all.empty() ? std::string("none") : all[0];
  };
  const std::string needy = "g: {op: group, in: cur, with: {by: [x], let: {y: \"count()\"}}},\n  ";
  const std::string sorted = needy + "n: {op: sort, in: g, with: {by: [x]}}";
  const std::string lost = needy + "n: {op: map, in: g, with: {x: y, y: x}}";
  EXPECT_EQ(fault("from: a, sorted_by: [x]", sorted), "none");
  EXPECT_EQ(testing::output_of(loop("from: a, sorted_by: [x]", sorted), "l", 0), "{x: u64, y: u64} by x");
  EXPECT_EQ(fault("rows: [], type: {x: u64, y: u64}, sorted_by: [x]", sorted), "none");
  // The place where the order gets lost, instead of a group that needs it.
  EXPECT_THAT(fault("from: a, sorted_by: [x]", lost), HasSubstr("'cur' goes on sorted by y"));
  EXPECT_THAT(fault("from: a", lost), HasSubstr("'group' needs equal x"));
  EXPECT_THAT(fault("from: a, sorted_by: [x]", needy + "n: {op: check, in: m, with: {sorted: [x]}},\n"
                                                       "  m: {op: map, in: g, with: {x: y, y: x}}"),
              "none");
  EXPECT_THAT(fault("from: a, sorted_by: [-x]", sorted), HasSubstr("'cur' starts sorted by x"));
  EXPECT_THAT(fault("from: a, sorted_by: [z]", sorted), HasSubstr("'cur' has no column 'z'"));
  EXPECT_EQ(fault("from: a, sorted_by: x", sorted), "none");
  EXPECT_THAT(faults_of("a: {op: test.rows, with: {type: {x: u64}}}\n"
                        "l: {op: loop, in: {a: a}, with: {carry: {n: {value: 1, sorted_by: [x]}}, times: 1, body: {\n"
                        "  f: {op: filter, in: a, with: {where: \"x > n\"}}}, collect: {o: f}}}\n"
                        "out: {op: test.sink, in: l.o}\n"),
              ::testing::ElementsAre(HasSubstr("what a loop carries has no 'sorted_by'")));
}

TEST(control, finds_faults) {
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
  EXPECT_THAT(fault("times: 1, max_iterations: 2, collect: {o: f}, " + body),
              HasSubstr("`times` says how many iterations there are"));
  EXPECT_THAT(fault("until: \"rows(f) == 0\", max_iterations: 0, collect: {o: f}, " + body),
              HasSubstr("a loop with no iterations can't end"));
  EXPECT_THAT(fault("times: 1, " + body), HasSubstr("the rows of 'f' are never used"));
  EXPECT_THAT(fault("times: 1.5, collect: {o: f}, " + body), HasSubstr("a number of iterations is no f64"));
  EXPECT_THAT(fault("times: \"'a'\", collect: {o: f}, " + body), HasSubstr("a scalar can't be a text"));
  EXPECT_THAT(fault("until: \"rows(g) == 0\", collect: {o: f}, " + body), HasSubstr("there is no node 'g'"));
  EXPECT_THAT(fault("until: \"f.y == 0\", collect: {o: f}, " + body), HasSubstr("'f' has no column 'y'"));
  EXPECT_THAT(fault("until: \"rows(f)\", collect: {o: f}, " + body), HasSubstr("the condition is u64"));
  EXPECT_THAT(fault("times: 1, collect: {o: f, scalars: f}, " + body), HasSubstr("an output 'scalars' already"));
  EXPECT_THAT(fault("carry: {n: {rows: [{x: 1, y: 2}], type: {x: u8}}}, times: 1, collect: {o: f}, " + body),
              HasSubstr("the rows have no column 'y'"));
  EXPECT_THAT(fault("carry: {cur: {from: a}}, next: {cur: \"next of cur\"}, times: 1, collect: {o: f}, " + body),
              HasSubstr("there is no node 'next of cur'"));
  EXPECT_THAT(fault("carry: {iterations: {value: 1}}, times: 1, collect: {o: f}, " + body),
              HasSubstr("'iterations' can't name a scalar"));
  const std::string more = "times: 1, collect: {o: f}, " + body;
  EXPECT_THAT(fault("carry: {n: {rows: [{}, {x: 1}]}}, " + more), HasSubstr("a row without columns"));
  EXPECT_THAT(fault("carry: {n: {rows: [{}]}}, next: {n: f}, " + more), HasSubstr("a row without columns"));
  EXPECT_THAT(fault("carry: {n: {rows: [{}], type: {x: u8}}}, " + more), HasSubstr("the column 'x' is missing"));
  EXPECT_THAT(fault("carry: {n: {rows: [{\"x[-1]\": 1}]}}, " + more), HasSubstr("'x[-1]' can't name a column"));
  EXPECT_THAT(fault("carry: {n: {rows: [{row: 1}]}}, " + more), HasSubstr("'row' can't name a column"));
  EXPECT_THAT(fault("times: 1, body: {w: {op: test.sink, in: a}}"), HasSubstr("'w' can't write inside of 'l'"));
}

TEST(control, branches_agree) {
  const std::string start =
      "a: {op: test.rows, with: {type: {x: u64}, sorted_by: [x]}}\nc: {op: if, in: {a: a}, with: {";
  const std::string end = "}}\nout: {op: test.sink, in: c.r}\n";
  EXPECT_EQ(
      testing::output_of(start +
                             "condition: \"rows(a) > 1\", then: {f: {op: filter, in: a, with: {where: \"x > 1\"}}}, "
                             "else: {f: {op: sort, in: a, with: {by: [-x]}}}, out: {r: f}" +
                             end,
                         "c"),
      "{x: u64} by nothing");
  EXPECT_EQ(
      testing::output_of(start +
                             "condition: \"rows(a) > 1\", then: {f: {op: filter, in: a, with: {where: \"x > 1\"}}}, "
                             "out: {r: f}" +
                             end,
                         "c"),
      "{x: u64} by x");
  const auto fault = [&](const std::string& with) {
    const auto all = faults_of(start + with + end);
    return all.empty() ? std::string("none") : all[0];
  };
  EXPECT_THAT(fault("condition: \"rows(a) > 1\", then: {f: {op: map, in: a, with: {x: x, y: x}}}, "
                    "else: {f: {op: map, in: a, with: {x: x}}}, out: {r: f}"),
              HasSubstr("'r' is {x: u64, y: u64} in `then` and {x: u64} in `else`"));
  EXPECT_THAT(fault("condition: \"rows(b) > 1\", then: {f: {op: map, in: a, with: {x: x}}}, out: {r: f}"),
              HasSubstr("'c' has no input 'b'"));
  EXPECT_EQ(fault("condition: \"rows(a) < memory\", then: {f: {op: map, in: a, with: {x: x}}}, out: {r: f}"), "none");
  EXPECT_THAT(fault("condition: \"memory\", then: {f: {op: map, in: a, with: {x: x}}}, out: {r: f}"), HasSubstr("u64"));
  EXPECT_THAT(fault("condition: \"a.y > 1\", then: {f: {op: map, in: a, with: {x: x}}}, out: {r: f}"),
              HasSubstr("'a' has no column 'y'"));
  // Results are nodes inside, whose names nobody may read by.
  EXPECT_THAT(fault("condition: \"rows(a) > 1\", then: {f: {op: map, in: a, with: {x: x}}}, out: {r: \"out r\", s: f}"),
              HasSubstr("there is no node 'out r'"));
}

std::string fault_of_call(const std::string& with, const std::string& graph, const std::string& in = "{rows: a}") {
  const auto all = faults_of("a: {op: test.rows, with: {type: {x: u64}}}\nc: {op: call, in: " + in + ", with: {" +
                                 with + "}}\nout: {op: test.sink, in: c}\n",
                             "graphs:\n  g: {" + graph + "}\n");
  return all.empty() ? std::string("none") : all[0];
}

TEST(control, calls_fit_their_graphs) {
  const std::string nodes = "nodes: {f: {op: filter, in: rows, with: {where: \"x > n\"}}}, out: f";
  const std::string graph = "in: {rows: any}, scalars: {n: {type: int, default: 3}}, " + nodes;
  EXPECT_EQ(fault_of_call("graph: g", graph), "none");
  EXPECT_EQ(fault_of_call("graph: g, n: \"2 + 2\"", graph, "a"), "none");
  EXPECT_EQ(fault_of_call("graph: g, n: \"rows(rows) * 2 + memory\"", graph), "none");
  EXPECT_THAT(fault_of_call("graph: g, n: rows(a)", graph), HasSubstr("'c' has no input 'a'"));
  EXPECT_THAT(fault_of_call("graph: g", "in: {rows: any}, scalars: {when: {type: int, default: 3}}, " + nodes),
              HasSubstr("a call has a 'when' of its own"));
  EXPECT_THAT(fault_of_call("graph: g", "in: {rows: any}, scalars: {row: {type: int, default: 3}}, " + nodes),
              HasSubstr("'row' can't name a scalar"));
  EXPECT_THAT(fault_of_call("graph: h", graph), HasSubstr("there is no graph 'h'"));
  EXPECT_THAT(fault_of_call("graph: g, m: 3", graph), HasSubstr("the graph 'g' has no scalar 'm'"));
  EXPECT_THAT(fault_of_call("graph: g, n: 0.5", graph), HasSubstr("this is no value for the scalar 'n'"));
  EXPECT_THAT(fault_of_call("graph: g", graph, "{other: a}"), HasSubstr("the graph 'g' has no input 'other'"));
  EXPECT_THAT(fault_of_call("graph: g",
                            "in: {rows: {y: u64}}, nodes: {f: {op: filter, in: rows, with: {where: \"y > 1\"}}}, "
                            "out: f"),
              HasSubstr("'a' is {x: u64}, and the input 'rows' of the graph 'g' {y: u64}"));
  EXPECT_THAT(fault_of_call("graph: g",
                            "in: {rows: any}, nodes: {f: {op: filter, in: rows, with: {where: \"x > 1\"}}}, "
                            "out: {out: {from: f, type: {x: u32}}}"),
              HasSubstr("the output 'out' of 'g' is {x: u64}, not {x: u32}"));
  EXPECT_THAT(
      fault_of_call("graph: g", "in: {rows: any}, nodes: {f: {op: call, in: {rows: rows}, with: {graph: g}}}, out: f"),
      HasSubstr("'g' calls itself: which columns does its output 'out' have?"));
}

}  // namespace
}  // namespace flowrun::operators
