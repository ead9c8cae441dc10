// Pipelines, levels, phases and queues on toy graphs.
#include "engine/plan/pipelines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/plan/phases.h"
#include "tests/engine/plan/toy_operators.h"
#include "tests/support/sanitized.h"

namespace flowrun::plan {
namespace {

// "1: a b s | 2: s w" with pipelines in phases; a meeting node's queues as "a~j" (bounded) or "a=j" (spilling).
std::string drawing(const std::string& nodes) {
  const toy_operators toys;
  const graph g = good_graph(toys, nodes);
  const plan_result made = make_plan(g, machine_with(GiB));
  EXPECT_TRUE(made.faults.empty()) << render(made.faults, "");
  std::string out;
  auto id = [&](int n) { return g.nodes[static_cast<size_t>(n)].id; };
  for (size_t x = 0; x < made.plan.phases.size(); ++x) {
    out += fmt::format("{}{}:", x == 0 ? "" : " | ", x + 1);
    for (size_t i = 0; i < made.plan.phases[x].pipelines.size(); ++i) {
      const pipeline& p = made.plan.pipelines[static_cast<size_t>(made.plan.phases[x].pipelines[i])];
      EXPECT_EQ(p.phase, static_cast<int>(x));
      out += (i == 0 ? " " : ", ") + id(p.head);
      for (int n : p.nodes) out += " " + id(n);
      for (int q : p.queues) {
        const queue& each = made.plan.queues[static_cast<size_t>(q)];
        EXPECT_EQ(each.reason.empty(), each.kind == queue_kind::bounded);
        out += " " + id(each.from_node) + (each.kind == queue_kind::bounded ? "~" : "=") + id(each.to_node);
      }
    }
  }
  return out;
}

TEST(Pipelines, Linear) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  f: {op: filter, in: a, with: {where: "x > y"}}
  w: {op: sink, in: f, with: {path: o}}
)"),
            "1: a f w");
}

TEST(Pipelines, ASortCutsInTwo) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  s: {op: sort, in: a, with: {by: [x]}}
  w: {op: sink, in: s, with: {path: o}}
)"),
            "1: a s | 2: s w");
}

TEST(Pipelines, AnElidedSortDoesNot) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source, with: {sorted_by: [x, y]}}
  s: {op: sort, in: a, with: {by: [x]}}
  w: {op: sink, in: s, with: {path: o}}
)"),
            "1: a s w");
}

TEST(Pipelines, NodesMayStandInAnySequence) {
  EXPECT_EQ(drawing(R"(nodes:
  w: {op: sink, in: s, with: {path: o}}
  s: {op: sort, in: a, with: {by: [x]}}
  a: {op: source}
)"),
            "1: a s | 2: s w");
}

TEST(Pipelines, AFileThatMeetsASortIsReadInThePhaseOfTheJoin) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  b: {op: source, with: {sorted_by: [x]}}
  s: {op: sort, in: a, with: {by: [x]}}
  j: {op: join, in: {left: s, right: b}, with: {by: [x]}}
  w: {op: sink, in: j, with: {path: o}}
)"),
            "1: a s | 2: b b~j, s s~j, j w");
}

TEST(Pipelines, ADelayReachesThroughPipelines) {
  // c is sorted once, a twice: the first half of c's sort is delayed to the phase before the join.
  EXPECT_EQ(drawing(R"(nodes:
  c: {op: source}
  sc: {op: sort, in: c, with: {by: [x]}}
  a: {op: source}
  s1: {op: sort, in: a, with: {by: [y]}}
  s2: {op: sort, in: s1, with: {by: [x]}}
  j: {op: join, in: {left: s2, right: sc}, with: {by: [x]}}
  w: {op: sink, in: j, with: {path: o}}
)"),
            "1: a s1 | 2: c sc | 3: s1 s2 | 4: sc sc~j, s2 s2~j, j w");
}

TEST(Pipelines, BranchesThatMeetAgainSpill) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source, with: {sorted_by: [x]}}
  l: {op: map, in: a, with: {x: x}}
  r: {op: filter, in: a, with: {where: "y > 1"}}
  j: {op: join, in: {left: l, right: r}, with: {by: [x]}}
  w: {op: sink, in: j, with: {path: o}}
)"),
            "1: a l r l=j r=j, j w");
}

// Each pair of branches is a circle of its own, and what lies between two of them is on none. There are so many that a
// walk over all of them for each queue would take minutes.
TEST(Pipelines, ManyBranchesThatMeetAgain) {
  constexpr int num_pairs = sanitized ? 500 : 2500;
  std::string nodes = "nodes:\n  d0: {op: source}\n";
  for (int i = 1; i <= num_pairs; ++i)
    nodes += fmt::format(
        "  a{0}: {{op: filter, in: d{1}, with: {{where: \"x > y\"}}}}\n  b{0}: {{op: filter, in: d{1}, with: {{where: "
        "\"x < "
        "y\"}}}}\n  c{0}: {{op: concat, in: [a{0}, b{0}]}}\n  d{0}: {{op: concat, in: [c{0}]}}\n",
        i, i - 1);
  nodes += fmt::format("  w: {{op: sink, in: d{}, with: {{path: o}}}}\n", num_pairs);
  const toy_operators toys;
  const graph g = good_graph(toys, nodes);
  const plan_result made = make_plan(g, machine_with(1024 * GiB));
  ASSERT_TRUE(made.faults.empty());
  for (const queue& q : made.plan.queues) {
    const std::string& to = g.nodes[static_cast<size_t>(q.to_node)].id;
    ASSERT_EQ(q.kind == queue_kind::spilling, to[0] == 'c') << to;
    if (to[0] != 'c') continue;
    const int pair = std::stoi(to.substr(1));
    ASSERT_EQ(q.reason, fmt::format("branches of 'd{}' meet again at 'c{}' and can't run in step", pair - 1, pair));
  }
}

TEST(Pipelines, AStreamThatMeetsItsOwnSortSpillsAcrossPhases) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source, with: {sorted_by: [x]}}
  s: {op: sort, in: a, with: {by: [y]}}
  j: {op: join, in: {left: s, right: a}, with: {by: {y: x}}}
  w: {op: sink, in: j, with: {path: o}}
)"),
            "1: a s a=j | 2: s s~j, j w");
}

TEST(Pipelines, ZipInStepIsBounded) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  m: {op: map, in: a, with: {z: x + y}}
  n: {op: number, in: m}
  z: {op: zip, in: {a: a, b: n}}
  w: {op: sink, in: z, with: {path: o}}
)"),
            "1: a m n a~z n~z, z w");
}

TEST(Pipelines, ZipOutOfStepSpills) {
  const std::string form = R"(nodes:
  a: {{op: source}}
  m: {}
  z: {{op: zip, in: {{a: a, b: m}}}}
  w: {{op: sink, in: z, with: {{path: o}}}}
)";
  EXPECT_EQ(drawing(fmt::format(fmt::runtime(form), "{op: filter, in: a, with: {where: x > y}}")),
            "1: a m a=z m=z, z w");
  EXPECT_EQ(drawing(fmt::format(fmt::runtime(form), "{op: number, in: a, with: {behind: 3}}")), "1: a m a=z m=z, z w");
  EXPECT_EQ(drawing(fmt::format(fmt::runtime(form), "{op: number, in: a}")), "1: a m a~z m~z, z w");
  // One batch of 16 byte rows could become three, or with strings any number.
  EXPECT_EQ(drawing(fmt::format(fmt::runtime(form), "{op: map, in: a, with: {p: x, q: x, r: x, s: x, t: x}}")),
            "1: a m a=z m=z, z w");
  EXPECT_EQ(drawing(fmt::format(fmt::runtime(form), "{op: map, in: a, with: {p: string(x)}}")), "1: a m a=z m=z, z w");
}

TEST(Pipelines, AWayThroughAnotherMeetingNodeIsACircle) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source, with: {sorted_by: [x]}}
  b: {op: source, with: {sorted_by: [x]}}
  c: {op: join, in: {left: a, right: b}, with: {by: [x]}}
  j: {op: join, in: {left: a, right: c}, with: {by: [x]}}
  w: {op: sink, in: j, with: {path: o}}
)"),
            "1: a a=c a=j, b b~c, c c=j, j w");
}

TEST(Pipelines, SplitPortsThatMeetAgainSpill) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  t: {op: split, in: a, with: {ports: {low: "x < y", high: "true"}}}
  c: {op: concat, in: [t.low, t.high]}
  w: {op: sink, in: c, with: {path: o}}
)"),
            "1: a t t=c t=c, c w");
}

TEST(Pipelines, IndependentPartsRunOneAfterAnother) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  b: {op: source}
  sa: {op: sort, in: a, with: {by: [x]}}
  sb: {op: sort, in: b, with: {by: [x]}}
  wa: {op: sink, in: sa, with: {path: oa}}
  wb: {op: sink, in: sb, with: {path: ob}}
)"),
            "1: a sa | 2: b sb | 3: sa wa | 4: sb wb");
}

TEST(Pipelines, ThreeSortsOfOneStreamAreFilledTogether) {
  EXPECT_EQ(drawing(R"(nodes:
  a: {op: source}
  s1: {op: sort, in: a, with: {by: [x]}}
  s2: {op: sort, in: a, with: {by: [y]}}
  s3: {op: sort, in: a, with: {by: [x, y]}}
  c: {op: concat, in: [s1, s2, s3]}
  w: {op: sink, in: c, with: {path: o}}
)"),
            "1: a s1 s2 s3 | 2: s1 s1~c, s2 s2~c, s3 s3~c, c w");
}

TEST(Pipelines, ReasonsNameForkAndMeeting) {
  const toy_operators toys;
  const graph g = good_graph(toys, R"(nodes:
  a: {op: source, with: {sorted_by: [x]}}
  f: {op: filter, in: a, with: {where: "x > 0"}}
  l: {op: map, in: f, with: {x: x}}
  j: {op: join, in: {left: l, right: f}, with: {by: [x]}}
  w: {op: sink, in: j, with: {path: o}}
  s: {op: sort, in: a, with: {by: [y]}}
  k: {op: join, in: {left: s, right: a}, with: {by: {y: x}}}
  v: {op: sink, in: k, with: {path: p}}
)");
  const plan_result made = make_plan(g, machine_with(GiB));
  ASSERT_TRUE(made.faults.empty());
  std::vector<std::string> reasons;
  for (const queue& q : made.plan.queues)
    if (q.kind == queue_kind::spilling) reasons.push_back(q.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"branches of 'f' meet again at 'j' and can't run in step",
                                               "branches of 'f' meet again at 'j' and can't run in step",
                                               "'k' runs in phase 2, its producer in phase 1"}));
}

}  // namespace
}  // namespace flowrun::plan
