// if and call in whole jobs: both ways, values of inputs, graphs that call themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

using ::testing::HasSubstr;

TEST(branch, takes_one_of_two) {
  const auto outputs = outputs_everywhere(R"yaml(
  rows:  {op: generate, with: {rows: 10, columns: {x: i}}}
  count: {op: reduce, in: rows, with: {let: {n: "count()"}}}
  many:
    op: if
    in: {rows: rows, count: count}
    with:
      condition: "rows(rows) > 5 and count.n == 10"
      then: {some: {op: filter, in: rows, with: {where: "x < 2"}}}
      else: {some: {op: filter, in: rows, with: {where: "x >= 8"}}}
      out: {some: some, all: rows}
  few:
    op: if
    in: {rows: rows}
    with:
      condition: "rows(rows) < 5"
      then: {some: {op: filter, in: rows, with: {where: "x < 2"}}}
      else: {some: {op: filter, in: rows, with: {where: "x >= 8"}}}
      out: {some: some}
  none:
    op: if
    in: {rows: rows}
    with:
      condition: "rows(rows) < 5"
      then: {some: {op: filter, in: rows, with: {where: "x < 2"}}}
      out: {some: some}
  w1: {op: file.write_csv, in: many.some, with: {path: @OUT/many.csv}}
  w2: {op: file.write_csv, in: few.some, with: {path: @OUT/few.csv}}
  w3: {op: file.write_csv, in: none.some, with: {path: @OUT/none.csv}}
  w4: {op: file.write_csv, in: many.all, with: {path: @OUT/all.csv}}
)yaml");
  EXPECT_EQ(outputs.at("many.csv"), "0\n1\n");
  EXPECT_EQ(outputs.at("few.csv"), "8\n9\n");
  EXPECT_EQ(outputs.at("none.csv"), "");
  EXPECT_EQ(outputs.at("all.csv"), "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

TEST(branch, in_a_loop) {
  const auto outputs = outputs_everywhere(R"yaml(
  collatz:
    op: loop
    with:
      carry: {x: {rows: [{x: 7}], type: {x: u64}}}
      body:
        odd:  {op: filter, in: x, with: {where: "x % 2 == 1"}}
        step:
          op: if
          in: {x: x, odd: odd}
          with:
            condition: "rows(odd) > 0"
            then: {next: {op: map, in: x, with: {x: "3 * x + 1"}}}
            else: {next: {op: map, in: x, with: {x: "x / 2"}}}
            out: {next: next}
        end:  {op: reduce, in: step.next, with: {let: {x: "max(x)"}}}
      next: {x: step.next}
      until: "end.x == 1"
      collect: {all: step.next}
  w: {op: file.write_csv, in: collatz.all, with: {path: @OUT/all.csv}}
)yaml");
  EXPECT_EQ(outputs.at("all.csv"), "22\n11\n34\n17\n52\n26\n13\n40\n20\n10\n5\n16\n8\n4\n2\n1\n");
}

// Rows of any type, with a number that the caller gives.
TEST(call, runs_a_graph_for_each_row_type) {
  const auto outputs = outputs_everywhere(R"yaml(
  a:  {op: generate, with: {rows: 6, columns: {k: "u32(i % 3)", x: i}}}
  b:  {op: generate, with: {rows: 4, columns: {k: "i % 2"}}}
  ca: {op: call, in: a, with: {graph: counts, least: 2}}
  cb: {op: call, in: {rows: b}, with: {graph: counts, least: "1 + 2"}}
  cc: {op: call, in: b, with: {graph: counts, least: 2, when: "rows(rows) > 4"}}
  wa: {op: file.write_csv, in: ca, with: {path: @OUT/a.csv}}
  wb: {op: file.write_csv, in: cb, with: {path: @OUT/b.csv}}
  wc: {op: file.write_csv, in: cc, with: {path: @OUT/c.csv}}
graphs:
  counts:
    in: {rows: any}
    scalars: {least: {type: int}}
    nodes:
      sorted: {op: sort, in: rows, with: {by: [k]}}
      each:   {op: group, in: sorted, with: {by: [k], let: {n: "count()"}}}
      enough: {op: filter, in: each, with: {where: "n >= least"}}
    out: enough
)yaml");
  EXPECT_EQ(outputs.at("a.csv"), "0,2\n1,2\n2,2\n");
  EXPECT_EQ(outputs.at("b.csv"), "");
  EXPECT_EQ(outputs.at("c.csv"), "");
}

constexpr const char* halving = R"yaml(
  rows:  {op: generate, with: {rows: @ROWS, columns: {x: i}}}
  steps: {op: call, in: rows, with: {graph: halves}}
  out:   {op: file.write_csv, in: steps, with: {path: @OUT/out.csv}}
graphs:
  halves:
    in: {rows: {x: u64}}
    nodes:
      half:  {op: filter, in: rows, with: {where: "@WHERE"}}
      less:  {op: map, in: half, with: {x: "x / 2"}}
      rest:  {op: call, in: {rows: less}, with: {graph: halves, when: "rows(rows) > 0"@MORE}}
      total: {op: reduce, in: rows, with: {let: {x: "sum(x)"}}}
      both:  {op: concat, in: [total, rest]}
    out: {out: {from: both, type: {x: u64}}}
)yaml";

std::string halving_with(const std::string& rows, const std::string& where, const std::string& more = {}) {
  std::string text = halving;
  for (const auto& [word, by] : {std::pair{"@ROWS", rows}, {"@WHERE", where}, {"@MORE", more}})
    text.replace(text.find(word), std::string(word).size(), by);
  return text;
}

TEST(call, recurs) {
  const auto outputs = outputs_everywhere(halving_with("20000", "x % 2 == 1"));
  // The odd numbers below n, halved, are the numbers below n / 2.
  std::string expected;
  for (uint64_t n = 20000; n > 0; n /= 2) expected += std::to_string(n * (n - 1) / 2) + "\n";
  EXPECT_EQ(outputs.at("out.csv"), expected);
}

TEST(call, stops_a_recursion_without_progress) {
  job_rig rig(halving_with("5", "x < 3", ", max_depth: 3"), {});
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->kind(), error_kind::bad_data);
  EXPECT_THAT(problem->what(), HasSubstr("'halves' calls itself 3 deep and has still 3 rows to work on "
                                         "(rows by level: 3, 3, 3, 3)"));
  EXPECT_TRUE(rig.outputs().empty());
}

}  // namespace
}  // namespace flowrun::exec
