// The stages of jobs.
#include "cluster/stages.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/described_stages.h"
#include "cluster/driver.h"
#include "cluster/stage_job.h"
#include "tests/support/checked_job.h"

namespace flowrun::cluster {
namespace {

divided_job divided(const std::string& nodes) {
  return divide(std::make_shared<const plan::graph>(exec::graph_of("flowrun: 1\nnodes:\n" + nodes)), 3,
                [](const std::string&) { return 1000; });
}

// "* rows kept >sorted | * sorted/k: sorted | total" and so on: * in front of what has several tasks, > in front of
// runs that are made, behind "from" what is read of other stages.
std::string drawing_of(const divided_job& job) {
  const auto id = [&](int n) { return job.graph->nodes[static_cast<size_t>(n)].id; };
  std::string out;
  for (const stage& s : job.cut.all) {
    out += out.empty() ? "" : " | ";
    out += s.divided ? "*" : "1";
    for (const int n : s.nodes) out += " " + id(n);
    for (const int n : s.runs) out += " >" + id(n);
    if (!s.inputs.empty()) out += " from";
    for (const stage_input& in : s.inputs)
      out += fmt::format(" {}{}",
                         in.how == reading::all     ? "all:"
                         : in.how == reading::piece ? "piece:"
                                                    : "",
                         id(in.node));
    if (s.kept_together > 0) out += fmt::format(" by {}", s.kept_together);
  }
  return out;
}
std::string drawing(const std::string& nodes) { return drawing_of(divided(nodes)); }

constexpr const char* numbers =
    "  a: {op: generate, with: {rows: 1000, columns: {x: i, k: \"i % 7\", l: \"i % 3\"}}}\n";

TEST(stages, stateless_nodes_stay_with_their_source) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "x > 3"}}
  m: {op: map, in: f, with: {k: k}}
  w: {op: file.write_csv, in: m, with: {path: o}}
)yaml"),
            "* a f m w");
}

TEST(stages, a_sort_makes_runs_in_one_stage_and_is_merged_in_the_next) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k, l]}}
  g: {op: group, in: s, with: {by: [k], let: {n: "count()"}}}
  w: {op: file.write_csv, in: g, with: {path: o}}
  all: {op: file.write_csv, in: s, with: {path: p}}
)yaml"),
            "* a >s | * s g w all from s by 1");
}

TEST(stages, rows_with_one_key_stay_together_only_where_that_is_needed) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k, l]}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a >s | * s w from s");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k, l], unique: true}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a >s | * s w from s by 2");
}

TEST(stages, what_needs_all_rows_is_one_task) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "x > 3"}}
  r: {op: scan, in: f, with: {state: {n: "0"}, set: {n: "n + x"}, emit: {n: n}}}
  w: {op: file.write_csv, in: r, with: {path: o}}
)yaml"),
            "* a f | 1 r w from all:f");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "row_number > 3"}}
  w: {op: file.write_csv, in: f, with: {path: o}}
)yaml"),
            "* a | 1 f w from all:a");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k], limit: 3}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a >s | 1 s w from s");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: ["k * l"]}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a | 1 s w from all:a");
}

TEST(stages, both_sides_of_a_join_are_cut_at_the_same_keys) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  b: {op: generate, with: {rows: 10, columns: {k: i, name: "concat('n', i)"}}}
  s: {op: sort, in: a, with: {by: [k, x]}}
  j: {op: join, in: {left: s, right: b}, with: {by: [k]}}
  w: {op: file.write_csv, in: j, with: {path: o}}
)yaml"),
            "* a >s | * b | * s j w from s b by 1");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k]}}
  t: {op: sort, in: a, with: {by: [-x]}}
  u: {op: sort, in: t, with: {by: [k]}}
  m: {op: map, in: u, with: {k: k, y: l}}
  j: {op: join, in: {left: s, right: m}, with: {by: [k]}}
  w: {op: file.write_csv, in: j, with: {path: o}}
)yaml"),
            "* a >s >t | * t >u from t | * s u m j w from s u by 1");
}

// The stage of the group can't wait for the join that waits for it.
TEST(stages, a_stage_never_waits_for_itself) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k]}}
  g: {op: group, in: s, with: {by: [k], let: {n: "count()"}}}
  t: {op: sort, in: g, with: {by: [n]}}
  u: {op: sort, in: t, with: {by: [k]}}
  v: {op: map, in: u, with: {k: k, m: n}}
  j: {op: join, in: {left: s, right: v}, with: {by: [k]}}
  w: {op: file.write_csv, in: j, with: {path: o}}
)yaml"),
            "* a >s | * s g >t from s by 1 | * t >u from t | * u v j w from u s by 1");
}

TEST(stages, a_table_goes_to_every_task) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  b: {op: generate, with: {rows: 10, columns: {k: i, name: "concat('n', i)"}}}
  l: {op: lookup, in: {stream: a, table: b}, with: {by: [k]}}
  w: {op: file.write_csv, in: l, with: {path: o}}
)yaml"),
            "* b | * a l w from all:b");
  // Of the same stage: it must have been written first.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "x < 3"}}
  t: {op: map, in: f, with: {k: k, y: x}}
  l: {op: lookup, in: {stream: a, table: t}, with: {by: [k]}}
  w: {op: file.write_csv, in: l, with: {path: o}}
)yaml"),
            "* a f t | * l w from piece:a all:t");
}

// The driver decides whether they are one task, or stages of their bodies.
TEST(stages, control_nodes_are_alone) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  c: {op: reduce, in: a, with: {let: {n: "count()"}}}
  r:
    op: if
    in: {rows: a}
    scalars: c
    with:
      condition: "c.n > 3"
      then: {t: {op: map, in: rows, with: {x: x}}}
      else: {t: {op: map, in: rows, with: {x: l}}}
      out: {out: t}
  m: {op: map, in: r, with: {y: "x + 1"}}
  w: {op: file.write_csv, in: m, with: {path: o}}
)yaml"),
            "* a >c | 1 c from all:c | 1 r from all:a all:c | * m w from piece:r");
}

// Breadth-first search. The streams from outside of the body lie in files already.
TEST(stages, a_body) {
  const divided_job job = divided(R"yaml(
  e: {op: generate, with: {rows: 1000, columns: {src: "i % 100", dst: "i % 77"}}}
  edges: {op: sort, in: e, with: {by: [src, dst]}}
  levels:
    op: loop
    in: {edges: edges}
    with:
      carry: {prev: {rows: []}, cur: {rows: [{node: 0}], type: {node: u64}}, t: {value: 0}}
      body:
        reached: {op: join, in: {left: cur, right: edges}, with: {by: {node: src}}}
        next:    {op: map, in: reached, with: {node: dst}}
        sorted:  {op: sort, in: next, with: {by: [node], unique: true}}
        fresh:   {op: join, in: {left: sorted, right: cur}, with: {by: [node], kind: anti}}
        new:     {op: join, in: {left: fresh, right: prev}, with: {by: [node], kind: anti}}
        level:   {op: map, in: new, with: {node: node, value: "t + 1"}}
      next:    {prev: cur, cur: new, t: "t + 1"}
      until:   "rows(new) == 0"
      collect: {out: level}
  w: {op: file.write_csv, in: levels.out, with: {path: o}}
)yaml");
  const plan::node& levels = *job.graph->find("levels");
  EXPECT_EQ(drawing_of(divide(levels.bodies.at(0), 3, job.file_bytes)),
            "* reached next >sorted from cur edges by 1 | * sorted fresh new level from sorted cur prev by 1");
  EXPECT_EQ(describe(job).text, R"yaml(on a cluster: 4 stages
  stage 1: 3 tasks, pieces of 'e'
    runs    e
    sorts   runs of 'edges'
  stage 2: 3 tasks
    reads   a range of src, dst of 'edges'
    runs    edges
  stage 3: stages of its own; one task, if it reads less than 64.0 MiB
    reads   all of 'edges'
    runs    levels
      levels: 2 stages each time
        stage 1: up to 3 tasks
          reads   a range of node of 'cur'
          reads   a range of src of 'edges'
          runs    reached, next
          sorts   runs of 'sorted'
        stage 2: up to 3 tasks
          reads   a range of node of 'sorted'
          reads   a range of node of 'cur'
          reads   a range of node of 'prev'
          runs    sorted, fresh, new, level
  stage 4: up to 3 tasks
    reads   a piece of 'levels'
    runs    w
)yaml");
}

TEST(stages, a_reduce_has_two_steps_where_partial_results_say_all) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "x > 3"}}
  c: {op: reduce, in: f, with: {let: {n: "count()", m: "min(x)"}, hash: true}}
  d: {op: reduce, in: a, with: {let: {n: "sum(k)"}}}
  w: {op: file.write_csv, in: c, with: {path: o}}
)yaml"),
            "* a f >c >d | 1 c d w from all:c all:d");
  // Of a range of keys.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k]}}
  c: {op: reduce, in: s, with: {let: {first: "first(x)"}}}
)yaml"),
            "* a >s | * s >c from s | 1 c from all:c");
  // A sum of floats depends on the order, count_distinct on the neighbours.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  c: {op: reduce, in: a, with: {let: {n: "count()", s: "sum(f64(x))"}}}
)yaml"),
            "* a | 1 c from all:a");
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k]}}
  c: {op: reduce, in: s, with: {let: {n: "count_distinct(k)"}}}
)yaml"),
            "* a >s | * s from s | 1 c from all:s");
  // Of a stream that one task has.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  r: {op: scan, in: a, with: {state: {n: "0"}, set: {n: "n + x"}, emit: {n: n}}}
  c: {op: reduce, in: r, with: {let: {n: "count()"}}}
)yaml"),
            "* a | 1 r c from all:a");
}

TEST(stages, a_sort_that_combines_has_runs_of_partial_results) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: {h: "x / 10"}, combine: {n: "count()"}}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a >s | * s w from s by 1");
  const divided_job job = divided(std::string(numbers) +
                                  "  s: {op: sort, in: a, with: {by: [-k], combine: {m: min(x)}}}\n"
                                  "  w: {op: file.write_csv, in: s, with: {path: o}}\n");
  const auto sort = static_cast<int>(job.graph->find("s") - job.graph->nodes.data());
  EXPECT_EQ(plan::to_string(order_of_runs(*job.graph, sort)), "-k");
  EXPECT_EQ(record::to_string(type_of(*job.graph, {sort, 0, true})), "{k: u64, m: u64}");
  // Floats are added up in the order of the input, behind the merge.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: {h: "x / 10"}, combine: {n: "sum(f64(x))"}}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml"),
            "* a | 1 s w from all:a");
}

TEST(stages, a_limit_takes_the_first_rows_of_each_task) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  f: {op: filter, in: a, with: {where: "x > 3"}}
  l: {op: limit, in: f, with: {count: 3, skip: 2}}
  w: {op: file.write_csv, in: l, with: {path: o}}
)yaml"),
            "* a f >l | 1 l w from all:l");
  // Of each key, and of what is behind the rows that are left out.
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k]}}
  l: {op: limit, in: s, with: {count: 3, by: [k]}}
  m: {op: limit, in: s, with: {skip: 3}}
  w: {op: file.write_csv, in: l, with: {path: o}}
  v: {op: file.write_csv, in: m, with: {path: p}}
)yaml"),
            "* a >s | * s l w from s by 1 | 1 m v from all:s");
}

// The one that waits for the other's result can't be where that is made.
TEST(stages, a_reduce_of_what_waits_for_another) {
  EXPECT_EQ(drawing(std::string(numbers) + R"yaml(
  c: {op: reduce, in: a, with: {let: {n: "count()"}}}
  f: {op: filter, in: a, scalars: c, with: {where: "x < c.n"}}
  d: {op: reduce, in: f, with: {let: {n: "count()"}}}
)yaml"),
            "* a >c | 1 c from all:c | * f >d from piece:a all:c | 1 d from all:d");
}

TEST(stages, an_index_belongs_to_one_file) {
  EXPECT_THROW(divided(std::string(numbers) + "  s: {op: sort, in: a, with: {by: [k]}}\n"
                                              "  w: {op: file.write_rows, in: s, with: {path: o, index: true}}\n"),
               error);
}

TEST(stages, tasks_have_no_standard_streams) {
  EXPECT_THROW(divided("  a: {op: file.read_lines, with: {path: \"-\"}}\n"
                       "  w: {op: file.write_lines, in: a, with: {path: o}}\n"),
               error);
}

TEST(stages, a_plan_for_people) {
  EXPECT_EQ(describe(divided(std::string(numbers) + R"yaml(
  s: {op: sort, in: a, with: {by: [k, l]}}
  g: {op: group, in: s, with: {by: [k], let: {n: "count()"}}}
  c: {op: reduce, in: g, with: {let: {n: "count()"}}}
)yaml"))
                .text,
            R"yaml(on a cluster: 3 stages
  stage 1: 3 tasks, pieces of 'a'
    runs    a
    sorts   runs of 's'
  stage 2: 3 tasks
    reads   a range of k of 's'
    runs    s, g
    reduces rows for 'c'
  stage 3: one task
    reads   partial results of 'c'
    runs    c
)yaml");
}

// Narrow rows are sorted as whole numbers, and merged so.
TEST(stages, what_remains_of_narrow_rows_decides_where_keys_are_equal) {
  const divided_job job = divided(R"yaml(
  a: {op: generate, with: {rows: 9, columns: {x: "u32(i)", t: "bytes('abcd', 4)"}}}
  s: {op: sort, in: a, with: {by: ["t[1:2]"]}}
  w: {op: file.write_csv, in: s, with: {path: o}}
)yaml");
  const auto sort = static_cast<int>(job.graph->find("s") - job.graph->nodes.data());
  EXPECT_EQ(plan::to_string(order_of_runs(*job.graph, sort)), "t[1:2], x, t[0:1], t[2:4]");
}

}  // namespace
}  // namespace flowrun::cluster
