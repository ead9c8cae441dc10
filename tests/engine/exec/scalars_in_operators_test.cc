// Every operator that has expressions, with a scalar in them: in a loop, where each iteration sees the value of its
// own, and with values of a stream of one row.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// A node a line. t is 5 and the rows are 5, 6, 7; or it is 6 and they are 6, 7, 8.
constexpr const char* nodes = R"yaml(
n:       {op: generate, with: {rows: 3, columns: {x: "i + t"}}}
m:       {op: map, in: n, with: {y: "x * t"}}
filter:  {op: filter, in: n, with: {where: "x > t"}}
several: {op: flat_map, in: n, with: {rows: [{v: x}, {v: t, when: "x == t"}]}}
scan:    {op: scan, in: n, with: {state: {s: t}, set: {s: "s + x"}, emit: {s: s}}}
sort:    {op: sort, in: n, with: {by: ["(x + t) % 3"]}}
combine: {op: sort, in: n, with: {by: [{k: "(x + t) % 2"}], combine: {n: "sum(x + t)", d: "count_distinct(x % t)"}}}
reduce:  {op: reduce, in: n, with: {let: {total: "sum(x + t)"}}}
group:   {op: group, in: n, with: {by: [], let: {total: "sum(x * t)"}}}
split:   {op: split, in: n, with: {ports: {low: "x < t + 1"}}}
window:  {op: window, in: n, with: {before: 1, pad: {x: t}, let: {d: "x - row[-1].x + t"}}}
table:   {op: generate, with: {rows: 1, columns: {x: "i + t + 1", w: i}}}
lookup:  {op: lookup, in: {stream: n, table: table}, with: {by: [x], missing: default, defaults: {w: "t * 2"}}}
pairs:   {op: group_pairs, in: n, with: {by: [], let: {p: "a.x + b.x + t"}}}
merge:   {op: merge, in: [n, n], with: {less: "a.x + t < b.x + t"}}
check:   {op: check, in: n, with: {where: "x >= t"}}
buckets: {op: partition, in: n, with: {by: "2 - (x - t)", buckets: 3}}
places:  {op: permute, in: n, with: {to: "2 - (x - t)"}}
sorted:  {op: sort, in: n, with: {by: [x]}}
pq_scan: {op: pq_scan, in: {n: sorted}, with: {order: [x], state: {s: t}, on: [{emit: {s: "s + x + t"}}]}}
tokens:  {op: tokens, in: n, with: {text: "concat('a', string(t))"}}
edges:   {op: map, in: n, with: {src: "u32(x - t)", dst: u32(0)}}
union:   {op: union_find, in: edges, with: {nodes: t}}
)yaml";

constexpr const char* loop = R"yaml(
  twice:
    op: loop
    with:
      carry: {t: {value: 5}}
      next: {t: "t + 1"}
      times: 2
      collect: {map: m, filter: filter, flat_map: several, scan: scan, sort: sort, combine: combine, reduce: reduce,
                group: group, split: split.low, window: window, lookup: lookup, group_pairs: pairs, merge: merge,
                check: check, partition: buckets, permute: places, pq_scan: pq_scan, tokens: tokens,
                union_find: union.labels}
      body:
)yaml";

std::string indented(const std::string& lines, const std::string& by) {
  return std::regex_replace(lines, std::regex("\n(?=.)"), "\n" + by);
}

const std::map<std::string, std::string> expected = {
    {"map", "25\n30\n35\n36\n42\n48\n"},
    {"filter", "6\n7\n7\n8\n"},
    {"flat_map", "5\n5\n6\n7\n6\n6\n7\n8\n"},
    {"scan", "10\n16\n23\n12\n19\n27\n"},
    {"sort", "7\n5\n6\n6\n7\n8\n"},
    {"combine", "0,22,2\n1,11,1\n0,26,2\n1,13,1\n"},
    {"reduce", "33\n39\n"},
    {"group", "90\n126\n"},
    {"split", "5\n6\n"},
    {"window", "5,5\n6,6\n7,6\n6,6\n7,7\n8,7\n"},
    {"lookup", "5,10\n6,0\n7,10\n6,12\n7,0\n8,12\n"},
    {"group_pairs", "16\n17\n18\n19\n20\n21\n"},
    {"merge", "5\n5\n6\n6\n7\n7\n6\n6\n7\n7\n8\n8\n"},
    {"check", "5\n6\n7\n6\n7\n8\n"},
    {"partition", "7\n6\n5\n8\n7\n6\n"},
    {"permute", "7\n6\n5\n8\n7\n6\n"},
    {"pq_scan", "15\n16\n17\n18\n19\n20\n"},
    {"tokens", "a5\na5\na5\na6\na6\na6\n"},
    {"union_find", "0,0\n1,0\n2,0\n3,3\n4,4\n0,0\n1,0\n2,0\n3,3\n4,4\n5,5\n"},
};

TEST(scalars, have_the_value_of_the_iteration_in_every_operator) {
  std::string text = loop + indented(nodes, "        ");
  for (const auto& [name, rows] : expected)
    text += "  w_" + name + ": {op: file.write_csv, in: twice." + name + ", with: {path: @OUT/" + name + "}}\n";
  const auto outputs = outputs_everywhere(text);
  for (const auto& [name, rows] : expected) EXPECT_EQ(outputs.at(name), rows) << name;
}

// The same nodes outside of a loop, with `t` said in another way, and with more words in front of `with:` of the nodes
// that name it.
std::string nodes_that_name(const std::string& t, const std::string& more) {
  std::string out;
  std::istringstream lines(nodes);
  for (std::string line; std::getline(lines, line);) {
    const std::string named = std::regex_replace(line, std::regex("\\bt\\b"), t);
    out += named == line ? line : std::regex_replace(named, std::regex("(op: [a-z_]+,)"), "$1 " + more);
    out += "\n";
  }
  return out;
}

// `nodes` are those above, with this value for `t`.
void expect_outputs(const std::string& all_nodes, int value, const std::string& sections = {}) {
  const std::map<std::string, std::string> output_of = {{"map", "m"},
                                                        {"flat_map", "several"},
                                                        {"split", "split.low"},
                                                        {"group_pairs", "pairs"},
                                                        {"partition", "buckets"},
                                                        {"permute", "places"},
                                                        {"union_find", "union.labels"}};
  std::string text = all_nodes;
  for (const auto& [name, rows] : expected) {
    const auto found = output_of.find(name);
    text += "  w_" + name + ": {op: file.write_csv, in: " + (found == output_of.end() ? name : found->second) +
            ", with: {path: @OUT/" + name + "}}\n";
  }
  const auto outputs = outputs_everywhere(text + sections);
  for (const auto& [name, rows] : expected) {
    const std::string& found = outputs.at(name);
    const bool is_first = value == 5;
    EXPECT_EQ(found, is_first ? rows.substr(0, found.size()) : rows.substr(rows.size() - found.size())) << name;
    EXPECT_FALSE(found.empty()) << name;
  }
}

TEST(scalars, come_from_the_row_of_a_stream_in_every_operator) {
  for (const int value : {5, 6})
    expect_outputs(fmt::format("\n  now: {{op: generate, with: {{rows: 1, columns: {{t: \"i + {}\"}}}}}}", value) +
                       indented(nodes_that_name("now.t", "scalars: now,"), "  "),
                   value);
}

TEST(parameters, are_constants_in_every_operator) {
  for (const int value : {5, 6})
    expect_outputs(indented(nodes_that_name("params.t", ""), "  "), value,
                   fmt::format("params: {{t: {{type: int, default: {}}}}}\n", value));
}

TEST(parameters, are_known_in_loops_branches_and_graphs) {
  const auto outputs = outputs_everywhere(R"yaml(
  rows: {op: generate, with: {rows: 10, columns: {x: i, name: "if(i == 3, 'O\\'Brien', 'x')"}}}
  up:
    op: loop
    in: {start: rows}
    with:
      carry: {now: {from: start}, total: {value: params.first}}
      body: {next: {op: map, in: now, with: {x: "x + params.first", name: name}}}
      next: {now: next, total: total + params.first}
      until: total >= params.first * 3
      max_iterations: 9
  half:
    op: if
    in: {r: rows}
    with:
      condition: params.on and rows(r) > params.first
      then: {out: {op: filter, in: r, with: {where: name == params.who}}}
      else: {out: {op: filter, in: r, with: {where: "false"}}}
      out: {out: out}
  called: {op: call, in: {rows: rows}, with: {graph: g, least: params.first + 6, from: params.day}}
  w1: {op: file.write_csv, in: up.now, with: {path: @OUT/up}}
  w2: {op: file.write_csv, in: half.out, with: {path: @OUT/half}}
  w3: {op: file.write_csv, in: called.kept, with: {path: @OUT/called}}
params:
  first: {type: int, default: 2}
  on: {type: bool, default: true}
  day: {type: date, default: 2026-02-28}
  who: {type: string, default: "O'Brien"}
graphs:
  g:
    in: {rows: any}
    out: {kept: kept}
    scalars: {least: {type: int}, from: {type: date}}
    nodes:
      some: {op: filter, in: rows, with: {where: "i64(x) >= least and name != params.who"}}
      kept: {op: map, in: some, with: {x: x, day: from + params.first}}
)yaml");
  EXPECT_EQ(outputs.at("up").substr(0, 8), "4,x\n5,x\n");
  EXPECT_EQ(outputs.at("half"), "3,O'Brien\n");
  EXPECT_EQ(outputs.at("called"), "8,2026-03-02\n9,2026-03-02\n");
}

constexpr const char* ten_rows = R"yaml(
  rows: {op: generate, with: {rows: 10, columns: {x: "i * 7 % 10", k: "i % 3"}}}
  all:  {op: reduce, in: rows, with: {let: {mean: "avg(x)", most: "max(x)", n: "count()"}}}
)yaml";

TEST(scalars, of_the_rows_that_they_choose_among) {
  // The row is made of the same rows, so what names its values reads a queue: a stage, a sort, a head of two streams.
  const auto outputs = outputs_everywhere(std::string(ten_rows) + R"yaml(
  above:  {op: filter, in: rows, scalars: all, with: {where: "f64(x) > all.mean"}}
  far:    {op: sort, in: rows, scalars: {a: all}, with: {by: ["-if(x > a.most / 2, x - a.most / 2, a.most / 2 - x)", x]}}
  sums:   {op: sort, in: rows, scalars: all, with: {by: [{late: "x > all.most / 2"}], combine: {n: "count()"}}}
  both:   {op: merge, in: [above, far], scalars: all, with: {less: "a.x < b.x and all.n < 5"}}
  second: {op: reduce, in: above, scalars: all, with: {let: {x: "sum(x - all.n)"}}}
  third:  {op: map, in: sums, scalars: [second, all], with: {x: "second.x + all.n + n"}}
  w1: {op: file.write_csv, in: above, with: {path: @OUT/above}}
  w2: {op: file.write_csv, in: far, with: {path: @OUT/far}}
  w3: {op: file.write_csv, in: both, with: {path: @OUT/both}}
  w4: {op: file.write_csv, in: third, with: {path: @OUT/third}}
)yaml");
  EXPECT_EQ(outputs.at("above"), "7,1\n8,1\n5,2\n9,1\n6,2\n");
  EXPECT_EQ(outputs.at("far"), "9,1\n0,0\n8,1\n1,0\n7,1\n2,0\n6,2\n3,0\n5,2\n4,2\n");
  EXPECT_EQ(outputs.at("both"), outputs.at("above") + outputs.at("far"));
  EXPECT_EQ(outputs.at("third"), "0\n0\n");
}

TEST(scalars, are_named_in_loops_branches_and_calls) {
  const auto outputs = outputs_everywhere(std::string(ten_rows) + R"yaml(
  five: {op: generate, with: {rows: 1, columns: {v: "i64(i) + 5"}}}
  up:
    op: loop
    in: {start: rows, one: five}
    scalars: {first: five}
    with:
      carry: {now: {from: start}, total: {value: "first.v"}}
      body:
        sum:   {op: reduce, in: now, with: {let: {x: "sum(x)"}}}
        next:  {op: map, in: now, scalars: [sum, one], with: {x: "x + sum.x + u64(one.v)", k: k}}
      next: {now: next, total: "total + first.v"}
      until: "total > first.v * 2"
      max_iterations: 5
  half:
    op: if
    in: {r: rows}
    scalars: five
    with:
      condition: "rows(r) / 2 == u64(five.v)"
      then: {out: {op: filter, in: r, with: {where: "row_number < 2"}}}
      else: {out: {op: filter, in: r, with: {where: "false"}}}
      out: {out: out}
  called: {op: call, in: {rows: rows}, scalars: five, with: {graph: g, least: "five.v + 3"}}
  none:   {op: call, in: {rows: rows}, scalars: five, with: {graph: g, least: 0, when: "five.v < 0"}}
  w1: {op: file.write_csv, in: up.now, with: {path: @OUT/up}}
  w2: {op: file.write_csv, in: up.scalars, with: {path: @OUT/ends}}
  w3: {op: file.write_csv, in: half.out, with: {path: @OUT/half}}
  w4: {op: file.write_csv, in: called.kept, with: {path: @OUT/called}}
  w5: {op: file.write_csv, in: none.kept, with: {path: @OUT/none}}
graphs:
  g: {in: {rows: any}, out: {kept: kept}, scalars: {least: {type: int}}, nodes: {kept: {op: filter, in: rows, with: {where: "i64(x) >= least"}}}}
)yaml");
  // 45 and 5 in the first round; then the rows have 545 together.
  EXPECT_EQ(outputs.at("up").substr(0, 18), "600,0\n607,1\n604,2\n");
  EXPECT_EQ(outputs.at("ends"), "15,2\n");
  EXPECT_EQ(outputs.at("half"), "0,0\n7,1\n");
  EXPECT_EQ(outputs.at("called"), "8,1\n9,1\n");
  EXPECT_EQ(outputs.at("none"), "");
}

TEST(scalars, keep_their_values_over_all_types) {
  const auto outputs = outputs_everywhere(R"yaml(
  row: {op: generate, with: {rows: 1, columns: {a: "u24(16777215)", b: "i8(i) - 7", c: "f32(0.5)", d: "f64(-2.25)", e: "i == 0",
        f: "to_date('1969-12-30') + i64(i)", g: "to_timestamp('1969-12-31 23:59:59')", h: "18446744073709551615"}}}
  x: {op: generate, scalars: {r: row}, with: {rows: 1, columns: {a: r.a, b: r.b, c: r.c, d: r.d, e: r.e, f: r.f, g: r.g, h: r.h}}}
  w: {op: file.write_csv, in: x, with: {path: @OUT/x}}
)yaml");
  EXPECT_EQ(outputs.at("x"), "16777215,-7,0.5,-2.25,true,1969-12-30,1969-12-31T23:59:59Z,18446744073709551615\n");
}

TEST(scalars, take_one_row) {
  for (const auto& [rows, how_many] :
       {std::pair(0, "no rows"), std::pair(2, "2 rows"), std::pair(70000, "70,000 rows")}) {
    job_rig rig("\n  rows: {op: generate, with: {rows: " + std::to_string(rows) +
                    ", columns: {x: i}}}\n  one: {op: generate, with: {rows: 1, columns: {y: i}}}\n"
                    "  a: {op: map, in: one, scalars: rows, with: {z: rows.x}}\n"
                    "  b: {op: map, in: one, scalars: {r: rows}, with: {z: r.x}}\n"
                    "  wa: {op: file.write_csv, in: a, with: {path: @OUT/a}}\n"
                    "  wb: {op: file.write_csv, in: b, with: {path: @OUT/b}}\n",
                different_places()[0]);
    const std::unique_ptr<error> problem = rig.run();
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind(), error_kind::bad_data);
    EXPECT_EQ(problem->what(), fmt::format("'rows' has {}; expressions of 'a' and 'b' name values of it, for which it "
                                           "needs just one",
                                           how_many));
    EXPECT_TRUE(rig.outputs().empty());
  }
}

TEST(scalars, that_a_setting_refuses_are_told_with_the_node) {
  job_rig rig(R"yaml(
  rows: {op: generate, with: {rows: 5, columns: {x: i}}}
  t:    {op: reduce, in: rows, with: {let: {a: avg(x)}}}
  o:    {op: reduce, in: rows, scalars: t, with: {let: {q: "approx_quantile(x, t.a)"}}}
  w:    {op: file.write_csv, in: o, with: {path: @OUT/w}}
)yaml",
              different_places()[0]);
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(std::string(problem->what()).substr(0, 40), "node 'o': approx_quantile: 2 is no quant");
}

}  // namespace
}  // namespace flowrun::exec
