// loop in whole jobs: scalars, streams small and large, collected rows, ends of all kinds, loops in loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

using ::testing::HasSubstr;

std::string problem_of(const std::string& nodes, error_kind kind) {
  job_rig rig(nodes, different_places()[0]);
  const std::unique_ptr<error> problem = rig.run();
  if (problem == nullptr) return "none";
  EXPECT_EQ(problem->kind(), kind);
  return problem->what();
}

TEST(loop, counts) {
  const auto outputs = outputs_everywhere(R"yaml(
  powers: {op: loop, with: {carry: {n: {value: 1}, last: {value: "-1"}}, body: {},
                            next: {n: "2 * n", last: "i64(iteration) - 100"}, until: "n > 1000"}}
  end:    {op: file.write_csv, in: powers.scalars, with: {path: @OUT/end.csv, header: true}}
  three:  {op: loop, with: {carry: {x: {value: 0.5}}, body: {}, next: {x: "x * 10"}, times: "1 + 2"}}
  end3:   {op: file.write_csv, in: three.scalars, with: {path: @OUT/three.csv}}
  never:  {op: loop, with: {carry: {x: {value: true}}, body: {}, times: "2 - 3"}}
  end0:   {op: file.write_csv, in: never.scalars, with: {path: @OUT/never.csv}}
)yaml");
  EXPECT_EQ(outputs.at("end.csv"), "n,last,iterations\n1024,-91,10\n");
  EXPECT_EQ(outputs.at("three.csv"), "500,3\n");
  EXPECT_EQ(outputs.at("never.csv"), "true,0\n");
}

TEST(loop, carries_rows_and_collects_them) {
  const auto outputs = outputs_everywhere(R"yaml(
  halves:
    op: loop
    with:
      carry: {rows: {rows: [{x: 9}, {x: 40}, {x: 3}], type: {x: u32}}, round: {value: 0}}
      body:
        large:  {op: filter, in: rows, with: {where: "x > 1"}}
        half:   {op: map, in: large, with: {x: "u32(x / 2)"}}
        late:   {op: filter, in: half, with: {where: "iteration >= 3 or round == 2"}}
        seen:   {op: map, in: half, with: {x: x, round: iteration}}
        seen_late: {op: map, in: late, with: {x: "x + iteration"}}
      next: {rows: half, round: "iteration + 1"}
      until: "rows(half) == 0"
      collect: {all: seen, late: seen_late}
  late: {op: file.write_csv, in: halves.late, with: {path: @OUT/late.csv}}
  all: {op: file.write_csv, in: halves.all, with: {path: @OUT/all.csv}}
  end: {op: file.write_csv, in: halves.rows, with: {path: @OUT/rows.csv}}
)yaml");
  EXPECT_EQ(outputs.at("all.csv"), "1,0\n4,0\n20,0\n2,1\n10,1\n1,2\n5,2\n2,3\n1,4\n");
  EXPECT_EQ(outputs.at("late.csv"), "3\n7\n5\n5\n");
  EXPECT_EQ(outputs.at("rows.csv"), "");
}

constexpr const char* search = R"yaml(
  drawn:   {op: generate, with: {rows: @EDGES, columns: {src: "u32(rand(5, i) % @NODES)", dst: "u32(rand(6, i) % @NODES)"}}}
  turned:  {op: map, in: drawn, with: {src: dst, dst: src}}
  both:    {op: concat, in: [drawn, turned]}
  edges:   {op: sort, in: both, with: {by: [src, dst], unique: true}}
  levels:
    op: loop
    in: {edges: edges}
    with:
      carry: {prev: {rows: []}, cur: {rows: [{node: 0}], type: {node: u32}}, t: {value: 0}}
      body:
        reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}}}
        next:    {op: map, in: reached, with: {node: dst}}
        sorted:  {op: sort, in: next, with: {by: [node], unique: true}}
        fresh:   {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}
        new:     {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti}}
        level:   {op: map, in: new, with: {node: node, value: "u32(t + 1)"}}
      next:    {prev: cur, cur: new, t: "t + 1"}
      until:   "rows(new) == 0"
      collect: {out: level}
  found: {op: sort, in: levels.out, with: {by: [node]}}
  write: {op: file.write_rows, in: found, with: {path: @OUT/levels.bin}}
  edge_file: {op: file.write_rows, in: edges, with: {path: @OUT/edges.bin}}
)yaml";

std::string with_numbers(std::string text, size_t num_nodes, size_t num_edges) {
  const auto replace = [&](const std::string& word, size_t by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
      text.replace(at, word.size(), std::to_string(by));
  };
  replace("@NODES", num_nodes);
  replace("@EDGES", num_edges);
  return text;
}

std::vector<uint32_t> words(const std::string& packed) {
  std::vector<uint32_t> out(packed.size() / 4);
  std::memcpy(out.data(), packed.data(), 4 * out.size());
  return out;
}

TEST(loop, searches_breadth_first) {
  for (const auto& [num_nodes, num_edges] : {std::pair<size_t, size_t>{50, 40}, {3000, 6000}, {60000, 200000}}) {
    const auto outputs = outputs_everywhere(with_numbers(search, num_nodes, num_edges));
    std::map<uint32_t, std::vector<uint32_t>> neighbours;
    const std::vector<uint32_t> edges = words(outputs.at("edges.bin"));
    for (size_t i = 0; i < edges.size(); i += 2) neighbours[edges[i]].push_back(edges[i + 1]);
    std::map<uint32_t, uint32_t> level{{0, 0}};
    std::vector<uint32_t> queue{0};
    for (size_t i = 0; i < queue.size(); ++i)
      for (uint32_t next : neighbours[queue[i]])
        if (level.emplace(next, level[queue[i]] + 1).second) queue.push_back(next);
    std::vector<uint32_t> expected;
    for (const auto& [node, value] : level)
      if (node != 0) expected.insert(expected.end(), {node, value});
    EXPECT_EQ(words(outputs.at("levels.bin")), expected) << num_nodes;
  }
}

TEST(loop, knows_values_of_reduced_rows) {
  const auto outputs = outputs_everywhere(R"yaml(
  numbers: {op: generate, with: {rows: 1000, columns: {x: "i"}}}
  sums:
    op: loop
    in: {numbers: numbers}
    with:
      carry: {rest: {from: numbers}, total: {value: 0}}
      body:
        smaller: {op: filter, in: rest, with: {where: "x < 900 / (iteration + 1)"}}
        sum:     {op: reduce, in: smaller, with: {let: {x: "sum(x)", n: "count()"}}}
      next:  {rest: smaller, total: "total + sum.x"}
      until: "sum.n < 100 or rows(smaller) == rows(rest)"
  end: {op: file.write_csv, in: sums.scalars, with: {path: @OUT/end.csv}}
)yaml");
  uint64_t total = 0, iterations = 0;
  for (uint64_t bound = 900, n = 1000; n >= 100; bound = 900 / (iterations + 1)) {
    ++iterations;
    n = bound;
    total += bound * (bound - 1) / 2;
  }
  EXPECT_EQ(outputs.at("end.csv"), fmt::format("{},{}\n", total, iterations));
}

TEST(loop, in_a_loop) {
  const auto outputs = outputs_everywhere(R"yaml(
  table:
    op: loop
    with:
      carry: {y: {value: 0}}
      body:
        line:
          op: loop
          with:
            carry: {x: {value: 0}}
            body: {cell: {op: generate, with: {rows: 2, columns: {x: "x", y: "y", i: "i"}}}}
            next: {x: "x + 1"}
            until: "x > y"
            collect: {cells: cell}
      next: {y: "y + 1"}
      times: 3
      collect: {cells: line.cells}
  write: {op: file.write_csv, in: table.cells, with: {path: @OUT/table.csv}}
)yaml");
  EXPECT_EQ(outputs.at("table.csv"),
            "0,0,0\n0,0,1\n0,1,0\n0,1,1\n1,1,0\n1,1,1\n0,2,0\n0,2,1\n1,2,0\n1,2,1\n2,2,0\n2,2,1\n");
}

// What one iteration swaps, and what it leaves alone.
TEST(loop, follows_all_at_once) {
  const auto outputs = outputs_everywhere(R"yaml(
  swap:
    op: loop
    with:
      carry: {a: {rows: [{x: 1}], type: {x: u64}}, b: {rows: [{x: 2}], type: {x: u64}}, c: {rows: [{x: 3}], type: {x: u64}},
              m: {value: 1}, n: {value: 2}}
      body: {used: {op: reduce, in: c, with: {let: {n: "count()"}}}}
      next: {a: b, b: a, m: n, n: m}
      times: 3
  a: {op: file.write_csv, in: swap.a, with: {path: @OUT/a.csv}}
  b: {op: file.write_csv, in: swap.b, with: {path: @OUT/b.csv}}
  c: {op: file.write_csv, in: swap.c, with: {path: @OUT/c.csv}}
  s: {op: file.write_csv, in: swap.scalars, with: {path: @OUT/s.csv}}
)yaml");
  EXPECT_EQ(outputs.at("a.csv"), "2\n");
  EXPECT_EQ(outputs.at("b.csv"), "1\n");
  EXPECT_EQ(outputs.at("c.csv"), "3\n");
  EXPECT_EQ(outputs.at("s.csv"), "2,1,3\n");
}

// Rows that grow from a few to many: plans change on the way.
TEST(loop, grows) {
  const auto outputs = outputs_everywhere(R"yaml(
  grown:
    op: loop
    with:
      carry: {rows: {rows: [{x: 0}], type: {x: u64}}}
      body:
        doubled: {op: flat_map, in: rows, with: {rows: [{x: "2 * x"}, {x: "2 * x + 1"}]}}
        mixed:   {op: sort, in: doubled, with: {by: ["hash64(iteration, x)"]}}
      next: {rows: mixed}
      until: "rows(mixed) > 150000"
  sorted: {op: sort, in: grown.rows, with: {by: [x]}}
  write:  {op: file.write_rows, in: sorted, with: {path: @OUT/rows.bin}}
)yaml");
  ASSERT_EQ(outputs.at("rows.bin").size(), 8U << 18);
  for (uint64_t i = 0; i < 1U << 18; ++i) {
    uint64_t x = 0;
    std::memcpy(&x, outputs.at("rows.bin").data() + 8 * i, 8);
    ASSERT_EQ(x, i);
  }
}

TEST(loop, ends_with_an_error_after_too_many_iterations) {
  EXPECT_THAT(problem_of(R"yaml(
  endless: {op: loop, with: {carry: {n: {value: 0}}, body: {}, until: "n > 0", max_iterations: 20}}
  end:     {op: file.write_csv, in: endless.scalars, with: {path: @OUT/end.csv}}
)yaml",
                         error_kind::bad_data),
              HasSubstr("'endless' has not ended after 20 iterations"));
}

TEST(loop, names_the_iteration_of_an_error) {
  const std::string problem = problem_of(R"yaml(
  outer:
    op: loop
    with:
      body:
        inner:
          op: loop
          with:
            body:
              drawn: {op: generate, with: {rows: 10, columns: {x: "if(i == 7 and iteration == 3, 0, i)"}}}
              right: {op: check, in: drawn, with: {sorted: [x]}}
            times: 5
      times: 2
  end: {op: file.write_csv, in: outer.scalars, with: {path: @OUT/end.csv}}
)yaml",
                                         error_kind::bad_data);
  EXPECT_THAT(problem, HasSubstr("in 'outer', iteration 0: in 'inner', iteration 3: "));
}

TEST(loop, stops_when_told) {
  job_place place = different_places()[0];
  job_rig rig(R"yaml(
  endless: {op: loop, with: {carry: {n: {value: 0}}, body: {}, next: {n: "n + 1"}, until: "false"}}
  end:     {op: file.write_csv, in: endless.scalars, with: {path: @OUT/end.csv}}
)yaml",
              place);
  std::string activity;
  const std::unique_ptr<error> problem = rig.run([&] {
    activity = rig.job().progress().activity;
    rig.stop() = true;
  });
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->kind(), error_kind::cancelled);
  EXPECT_THAT(activity, HasSubstr("endless: iteration "));
  EXPECT_TRUE(rig.outputs().empty());
}

TEST(loop, reports_what_is_inside) {
  job_rig rig(with_numbers(search, 500, 1000), different_places()[0]);
  ASSERT_EQ(rig.run(), nullptr);
  const RunReport report = rig.report();
  const uint64_t found = rig.node(report, "found").rows();
  EXPECT_EQ(rig.node(report, "levels.new").rows(), found);
  EXPECT_EQ(rig.node(report, "levels.level").rows(), found);
  EXPECT_GT(rig.node(report, "levels.sorted").rows(), found);
  EXPECT_GT(std::stoull(results_of(report).at("levels.iterations")), 3U);
}

}  // namespace
}  // namespace flowrun::exec
