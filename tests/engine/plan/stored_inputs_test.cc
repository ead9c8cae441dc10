// Nodes with stored inputs on toy graphs: where pipelines end, which phase comes first, when a stage is cut off, and
// whose memory is whose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/plan/explain.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

using ::testing::HasSubstr;

int index_of(const graph& g, const std::string& id) { return static_cast<int>(g.find(id) - g.nodes.data()); }

// The phase in which a node runs, not counting its stores; -1: none.
int phase_of(const graph& g, const physical_plan& plan, const std::string& id) {
  const int node = index_of(g, id);
  for (const pipeline& p : plan.pipelines)
    if (p.head == node || std::find(p.nodes.begin(), p.nodes.end(), node) != p.nodes.end()) return p.phase;
  return -1;
}

int phase_of_store(const graph& g, const physical_plan& plan, const std::string& id, int input) {
  const stored_input wanted{index_of(g, id), input};
  for (const pipeline& p : plan.pipelines)
    if (std::find(p.stores.begin(), p.stores.end(), wanted) != p.stores.end()) return p.phase;
  return -1;
}

physical_plan plan_of(const graph& g, uint64_t memory_bytes = 64 * MiB) {
  plan_result made = make_plan(g, machine_with(memory_bytes));
  EXPECT_TRUE(made.faults.empty());
  return std::move(made.plan);
}

TEST(StoredInputs, TableIsFilledInAnEarlierPhase) {
  const toy_operators toys;
  const graph g = good_graph(toys,
                             "nodes:\n  a: {op: source, with: {rows: 100}}\n  t: {op: source, with: {rows: 10}}\n"
                             "  l: {op: lookup, in: {in: a, table: t}}\n  w: {op: sink, in: l, with: {path: o}}\n");
  const physical_plan plan = plan_of(g);
  EXPECT_EQ(g.find("l")->role(), operator_role::ordered);
  EXPECT_EQ(plan.phases.size(), 2U);
  EXPECT_EQ(phase_of_store(g, plan, "l", 1), 0);
  EXPECT_EQ(phase_of(g, plan, "l"), 1);
  EXPECT_EQ(phase_of(g, plan, "a"), 1);
  EXPECT_EQ(phase_of(g, plan, "w"), 1);
  EXPECT_TRUE(plan.queues.empty());
  const int l = index_of(g, "l");
  EXPECT_EQ(plan.share_of(l, node_part::intake, 1), 8 * MiB);
  EXPECT_EQ(plan.kept_of(l, 1), 8 * MiB);
  EXPECT_EQ(plan.phases[1].held_bytes, 8 * MiB);
  EXPECT_EQ(plan.share_of(l, node_part::work), 0U);
  const std::string text = explain_text(g, plan);
  EXPECT_THAT(text, HasSubstr("t ─▶ l.table (store)"));
  EXPECT_THAT(text, HasSubstr("a ─▶ l ─▶ w"));
  EXPECT_THAT(explain_dot(g, plan), HasSubstr("l.table"));
}

// The table is made of the very rows that are looked up: both can't be one pipeline.
TEST(StoredInputs, StageBehindItsOwnTableIsCutOff) {
  const toy_operators toys;
  for (const char* table : {"a", "m", "s"}) {
    const graph g = good_graph(
        toys, std::string("nodes:\n  a: {op: source, with: {rows: 100}}\n") + "  m: {op: map, in: a, with: {x: x}}\n" +
                  "  s: {op: sort, in: a, with: {by: [y]}}\n" + "  w: {op: sink, in: m, with: {path: o}}\n" +
                  "  v: {op: sink, in: s, with: {path: p}}\n" + "  l: {op: lookup, in: {in: a, table: " + table +
                  "}}\n" + "  u: {op: sink, in: l, with: {path: q}}\n");
    const physical_plan plan = plan_of(g);
    const int l = index_of(g, "l");
    ASSERT_NE(plan.queue_into(l, 0), nullptr) << table;
    EXPECT_EQ(plan.queue_into(l, 0)->kind, queue_kind::spilling);
    EXPECT_GT(phase_of(g, plan, "l"), phase_of_store(g, plan, "l", 1)) << table;
    EXPECT_GE(phase_of_store(g, plan, "l", 1), phase_of(g, plan, "a"));
    const bool heads =
        std::any_of(plan.pipelines.begin(), plan.pipelines.end(), [&](const pipeline& p) { return p.head == l; });
    EXPECT_TRUE(heads);
  }
}

// Each is the other's table: one of the two has to wait.
TEST(StoredInputs, CrosswiseTables) {
  const toy_operators toys;
  const graph g = good_graph(toys,
                             "nodes:\n  a: {op: source, with: {rows: 100}}\n  b: {op: source, with: {rows: 10}}\n"
                             "  x: {op: lookup, in: {in: a, table: b}}\n  y: {op: lookup, in: {in: b, table: a}}\n"
                             "  v: {op: sink, in: x, with: {path: o}}\n  w: {op: sink, in: y, with: {path: p}}\n");
  const physical_plan plan = plan_of(g);
  EXPECT_EQ(plan.queue_into(index_of(g, "x"), 0), nullptr);
  EXPECT_NE(plan.queue_into(index_of(g, "y"), 0), nullptr);
  for (const char* id : {"x", "y"}) EXPECT_GT(phase_of(g, plan, id), phase_of_store(g, plan, id, 1));
}

TEST(StoredInputs, NodeWithNothingElseHeadsAPipeline) {
  const toy_operators toys;
  const graph g = good_graph(toys,
                             "nodes:\n  a: {op: source, with: {rows: 100}}\n  b: {op: source}\n"
                             "  c: {op: hold, in: {one: a, two: b}}\n  w: {op: sink, in: c, with: {path: o}}\n");
  const node& c = *g.find("c");
  EXPECT_EQ(c.role(), operator_role::source);
  EXPECT_EQ(c.inputs[0].name, "one");
  EXPECT_EQ(c.inputs[1].name, "two");
  const physical_plan plan = plan_of(g);
  for (int input : {0, 1}) EXPECT_LT(phase_of_store(g, plan, "c", input), phase_of(g, plan, "c"));
  EXPECT_GT(plan.kept_of(index_of(g, "c"), 0), 0U);
  EXPECT_GT(plan.kept_of(index_of(g, "c"), 1), 0U);
}

TEST(StoredInputs, ShortFormsNameTheInputs) {
  const toy_operators toys;
  const graph g = good_graph(toys,
                             "nodes:\n  a: {op: source}\n  b: {op: source}\n  c: {op: hold, in: [a, b]}\n"
                             "  w: {op: sink, in: c, with: {path: o}}\n");
  EXPECT_EQ(g.find("c")->inputs[0].name, "a");
  EXPECT_EQ(g.find("c")->inputs[1].name, "b");
  EXPECT_EQ(short_faults(check_job(toys,
                                   "nodes:\n  a: {op: source}\n  c: {op: hold, in: [a, a]}\n"
                                   "  w: {op: sink, in: c, with: {path: o}}\n")
                             .faults),
            std::vector<std::string>{"4:25 'c' has an input 'a' already"});
}

TEST(StoredInputs, BudgetCountsWhatIsHeld) {
  const toy_operators toys;
  const std::string nodes =
      "nodes:\n  a: {op: source, with: {rows: 100}}\n  t: {op: source, with: {rows: 10}}\n"
      "  l: {op: lookup, in: {in: a, table: t}}\n  s: {op: sort, in: l, with: {by: [y]}}\n"
      "  w: {op: sink, in: s, with: {path: o}}\n";
  const graph g = good_graph(toys, nodes);
  // The sort's first half and the table: 2 MiB, and batches.
  EXPECT_FALSE(make_plan(g, machine_with(2 * MiB)).faults.empty());
  const plan_result made = make_plan(g, machine_with(2 * MiB));
  ASSERT_EQ(made.faults.size(), 1U);
  EXPECT_THAT(made.faults[0].expected, HasSubstr("l.table (stored)"));
  const physical_plan plan = plan_of(g, 4 * MiB);
  for (const phase& p : plan.phases) EXPECT_LE(p.memory_bytes + p.batches_bytes + p.held_bytes, 4 * MiB);
}

}  // namespace
}  // namespace flowrun::plan
