#include "engine/plan/memory.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/sizes/container_block.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

std::vector<uint64_t> shared(std::vector<memory_wish> wishes, uint64_t available) {
  std::vector<memory_claim> claims;
  for (const memory_wish& w : wishes) claims.push_back({w, 0});
  share_memory(claims, available);
  std::vector<uint64_t> given;
  for (const memory_claim& c : claims) given.push_back(c.given);
  return given;
}

TEST(ShareMemory, Tables) {
  using list = std::vector<uint64_t>;
  EXPECT_EQ(shared({}, 100), list{});
  EXPECT_EQ(shared({{10, 1000, 1}}, 100), list{100});
  EXPECT_EQ(shared({{10, 50, 1}}, 100), list{50});                         // no more than the maximum
  EXPECT_EQ(shared({{10, 10, 1}, {10, 1000, 1}}, 100), (list{10, 90}));    // what one leaves the other gets
  EXPECT_EQ(shared({{10, 1000, 1}, {10, 1000, 3}}, 100), (list{30, 70}));  // by weight, above the minimum
  EXPECT_EQ(shared({{10, 1000, 0}, {10, 1000, 1}}, 100), (list{10, 90}));  // no weight: the minimum
  EXPECT_EQ(shared({{10, 1000, 1}, {90, 1000, 1}}, 100), (list{10, 90}));  // just the minimums
  EXPECT_EQ(shared({{0, 20, 1}, {0, 30, 1}, {0, 1000, 1}}, 300), (list{20, 30, 250}));
}

constexpr const char* three_sorts = R"(nodes:
  a: {op: source, with: {rows: 100000000}}
  s1: {op: sort, in: a, with: {by: [x]}}
  s2: {op: sort, in: a, with: {by: [y]}}
  s3: {op: sort, in: a, with: {by: [x, y]}}
  c: {op: concat, in: [s1, s2, s3]}
  w: {op: sink, in: c, with: {path: o}}
)";

// Nothing that is alive at the same time exceeds the budget.
void expect_within_budget(const physical_plan& plan) {
  for (size_t x = 0; x < plan.phases.size(); ++x) {
    uint64_t given = 0, kept = 0, queues = 0;
    for (const memory_share& s : plan.shares) {
      if (s.phase == static_cast<int>(x)) given += s.given;
      EXPECT_GE(s.given, s.minimum);
      EXPECT_LE(s.given, std::max(s.minimum, s.maximum));
      EXPECT_LE(s.kept_bytes, s.given / 2);
      if (s.kept_bytes == 0) continue;
      for (const memory_share& other : plan.shares)
        if (other.node == s.node && other.part == node_part::work && s.phase < static_cast<int>(x) &&
            static_cast<int>(x) <= other.phase)
          kept += s.kept_bytes;
    }
    for (const queue& q : plan.queues) {
      EXPECT_GT(q.memory_bytes, 0u);
      int from = -1, to = -1;
      for (const pipeline& p : plan.pipelines) {
        if (std::find(p.queues.begin(), p.queues.end(), &q - plan.queues.data()) != p.queues.end()) from = p.phase;
        if (p.head == q.to_node) to = p.phase;
      }
      if (q.kind == queue_kind::spilling && from <= static_cast<int>(x) && static_cast<int>(x) <= to)
        queues += q.memory_bytes;
    }
    EXPECT_LE(given + kept + queues + plan.phases[x].batches_bytes, plan.resources.memory_bytes) << "phase " << x + 1;
    EXPECT_LE(plan.phases[x].memory_bytes + plan.phases[x].batches_bytes + plan.phases[x].held_bytes,
              plan.resources.memory_bytes);
  }
  EXPECT_LE(plan.predicted_peak_memory, plan.resources.memory_bytes);
}

TEST(Memory, SortsOfOnePhaseShareAlike) {
  const toy_operators toys;
  const graph g = good_graph(toys, three_sorts);
  machine fixed_blocks = machine_with(256 * MiB);  // those that would be chosen could always shrink
  fixed_blocks.block_bytes = MiB;
  const plan_result made = make_plan(g, fixed_blocks);
  ASSERT_TRUE(made.faults.empty());
  expect_within_budget(made.plan);
  const int s1 = 1, s2 = 2, s3 = 3;
  EXPECT_EQ(made.plan.share_of(s1, node_part::intake), made.plan.share_of(s2, node_part::intake));
  EXPECT_EQ(made.plan.share_of(s1, node_part::work), made.plan.share_of(s3, node_part::work));
  EXPECT_GT(made.plan.share_of(s1, node_part::intake), 80 * MiB);
  // 42 runs each: the merges need all of their memory to take them at once, so nothing is kept; with more there is
  // room.
  EXPECT_EQ(made.plan.kept_of(s1), 0u);
  EXPECT_GT(make_plan(g, machine_with(512 * MiB)).plan.kept_of(s1), 0u);
}

TEST(Memory, NeverOverTheBudget) {
  const toy_operators toys;
  const std::vector<std::string> jobs = {three_sorts, R"(nodes:
  a: {op: source, with: {rows: 1000000, sorted_by: [x]}}
  s: {op: sort, in: a, with: {by: [y]}}
  t: {op: sort, in: s, with: {by: [x]}}
  u: {op: sort, in: s, with: {by: [y, x]}}
  j: {op: join, in: {left: t, right: a}, with: {by: [x]}}
  k: {op: join, in: {left: j, right: a}, with: {by: [x]}}
  w: {op: sink, in: k, with: {path: o}}
  v: {op: sink, in: u, with: {path: p}}
)"};
  for (const std::string& job : jobs) {
    const graph g = good_graph(toys, job);
    int good = 0;
    for (uint64_t memory = 512 * KiB; memory < 64 * GiB; memory += memory / 5) {
      for (unsigned threads : {1u, 3u, 64u}) {
        machine m = machine_with(memory);
        m.threads = threads;
        const plan_result made = make_plan(g, m);
        if (!made.faults.empty()) continue;
        ++good;
        expect_within_budget(made.plan);
      }
    }
    EXPECT_GT(good, 50);
  }
}

TEST(Memory, TooLittleIsAFaultWithATable) {
  const toy_operators toys;
  const graph g = good_graph(toys, "resources: {memory: 2MiB}\n" + std::string(three_sorts));
  const plan_result made = make_plan(g, machine_with(2 * MiB));
  ASSERT_EQ(made.faults.size(), 1u);
  const fault& f = made.faults.front();
  EXPECT_EQ(f.where.line, 2);
  EXPECT_EQ(f.where.column, 21);
  EXPECT_EQ(f.message, "a memory budget of 2.00 MiB is too small for this job");
  EXPECT_EQ(f.expected,
            "memory: 4MiB or more; phase 2 wants at least"
            "\n      s1 (sort, merge)               1.00 MiB"
            "\n      s2 (sort, merge)               1.00 MiB"
            "\n      s3 (sort, merge)               1.00 MiB"
            "\n      batches in flight, 2 threads    576 KiB");
  EXPECT_NE(f.hint.find("4MiB"), std::string::npos);
}

TEST(Memory, TheTableOfManyNodesNamesTheLargest) {
  const toy_operators toys;
  std::string job = "nodes:\n  a: {op: source, with: {rows: 100000000}}\n";
  std::string all;
  for (int i = 0; i < 100; ++i) {
    job += fmt::format("  s{0}: {{op: sort, in: a, with: {{by: [x]}}}}\n", i);
    all += fmt::format("{}s{}", i > 0 ? ", " : "", i);
  }
  job += fmt::format("  c: {{op: concat, in: [{}]}}\n  w: {{op: sink, in: c, with: {{path: o}}}}\n", all);
  const graph g = good_graph(toys, job);
  const plan_result made = make_plan(g, machine_with(2 * MiB));
  ASSERT_EQ(made.faults.size(), 1u);
  const std::string& expected = made.faults.front().expected;
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 16) << expected;
  EXPECT_NE(expected.find("\n      s0 (sort, merge) "), std::string::npos) << expected;
  EXPECT_NE(expected.find(" others "), std::string::npos) << expected;
}

// They may be used in every phase, so they are set aside in each.
TEST(Memory, RegularExpressionsHaveTheirPart) {
  const toy_operators toys;
  const graph g = good_graph(toys, three_sorts);
  machine m = machine_with(64 * MiB);
  const plan_result without = make_plan(g, m);
  m.pattern_bytes = 24 * MiB;
  const plan_result made = make_plan(g, m);
  ASSERT_TRUE(made.faults.empty());
  expect_within_budget(made.plan);
  for (size_t x = 0; x < made.plan.phases.size(); ++x) {
    EXPECT_GE(made.plan.phases[x].held_bytes, 24 * MiB) << x;
    EXPECT_LE(made.plan.phases[x].memory_bytes, without.plan.phases[x].memory_bytes) << x;
  }
  m.pattern_bytes = 62 * MiB;
  const plan_result refused = make_plan(g, m);
  ASSERT_EQ(refused.faults.size(), 1u);
  EXPECT_NE(refused.faults.front().expected.find("\n      regular expressions            62.0 MiB"), std::string::npos)
      << refused.faults.front().expected;
}

TEST(Memory, TheSmallestBudgetNamedDoes) {
  const toy_operators toys;
  const graph g = good_graph(toys, three_sorts);
  for (unsigned threads : {1u, 8u, 200u}) {
    machine m = machine_with(KiB);
    m.threads = threads;
    const plan_result refused = make_plan(g, m);
    ASSERT_EQ(refused.faults.size(), 1u);
    const std::string& text = refused.faults.front().expected;
    const uint64_t named = std::stoull(text.substr(text.find(' ') + 1));
    m.memory_bytes = named * MiB;
    EXPECT_TRUE(make_plan(g, m).faults.empty()) << text;
    m.memory_bytes = (named - 1) * MiB;
    EXPECT_EQ(make_plan(g, m).faults.size(), 1u) << text;
  }
}

TEST(Memory, SmallSortsKeepWhatTheyHaveOnly) {
  const toy_operators toys;
  const graph g = good_graph(toys, R"(nodes:
  a: {op: source, with: {rows: 1000}}
  s: {op: sort, in: a, with: {by: [y]}}
  w: {op: sink, in: s, with: {path: o}}
)");
  const plan_result made = make_plan(g, machine_with(256 * MiB));
  EXPECT_EQ(made.plan.kept_of(1), 16000u);
  ASSERT_EQ(made.plan.sorts.size(), 1u);
  EXPECT_EQ(made.plan.sorts[0].merge_passes, 0u);
  EXPECT_EQ(made.plan.predicted_scratch_written, 0u);
}

TEST(Memory, NothingIsKeptWhereItWouldCostAPass) {
  const toy_operators toys;
  const graph g = good_graph(toys, R"(nodes:
  a: {op: source, with: {rows: 22000000}}
  s: {op: sort, in: a, with: {by: [y]}}
  w: {op: sink, in: s, with: {path: o}}
)");
  // 336 MiB in 8 MiB: about 90 runs; a merge of all of them at once needs nearly all memory.
  uint64_t with_keeping = 0, without = 0;
  for (uint64_t memory = 4 * MiB; memory <= 64 * MiB; memory += 256 * KiB) {
    const plan_result made = make_plan(g, machine_with(memory));
    ASSERT_TRUE(made.faults.empty());
    (made.plan.kept_of(1) > 0 ? with_keeping : without) += 1;
    expect_within_budget(made.plan);
  }
  EXPECT_GT(with_keeping, 0u);
  EXPECT_GT(without, 0u);
}

// Each stream that meets others in a phase holds rows of its own.
TEST(Memory, RowsMayTakeLessWhereManyStreamsMeet) {
  const toy_operators toys;
  for (const uint64_t streams : {1, 2, 3, 10}) {
    std::string nodes = "nodes:\n", names;
    for (uint64_t i = 0; i < streams; ++i) {
      nodes += fmt::format("  a{}: {{op: source, with: {{rows: 1000}}}}\n", i);
      names += fmt::format("{}a{}", i > 0 ? ", " : "", i);
    }
    const graph g = good_graph(toys, nodes + "  m: {op: concat, in: [" + names + R"(]}
  s: {op: sort, in: m, with: {by: [y]}}
  w: {op: sink, in: s, with: {path: o}}
)");
    const plan_result made = make_plan(g, machine_with(256 * MiB));
    ASSERT_TRUE(made.faults.empty());
    ASSERT_EQ(made.plan.phases.size(), 2u);
    EXPECT_EQ(made.plan.longest_row(0), 256 * MiB / std::max<uint64_t>(8, 4 * streams));
    EXPECT_EQ(made.plan.longest_row(1), 32 * MiB);
  }
}

TEST(Memory, BatchesAreSmallWhereMemoryIs) {
  const toy_operators toys;
  const graph g = good_graph(toys, three_sorts);
  EXPECT_EQ(make_plan(g, machine_with(8 * MiB)).plan.batch_bytes, 32 * KiB);
  EXPECT_EQ(make_plan(g, machine_with(4 * GiB)).plan.batch_bytes, 256 * KiB);
  machine m = machine_with(GiB);
  m.batch_bytes = 100;
  EXPECT_EQ(make_plan(g, m).plan.batch_bytes, 100u);
}

constexpr const char* wide_sort = R"(nodes:
  a: {op: source, with: {rows: 3000, type: {x: u64, v: "bytes[39992]"}}}
  s: {op: sort, in: a, with: {by: [x]}}
  w: {op: sink, in: s, with: {path: o}}
)";

// Rows of 40,000 bytes in blocks of 64 KiB, which the sort makes longer: fewer are merged at once than blocks of 64 KiB
// would let.
TEST(Memory, LongRowsArePlannedWithTheBlocksThatTheyAskFor) {
  const toy_operators toys;
  const graph g = good_graph(toys, wide_sort);
  machine m = machine_with(16 * MiB);
  m.block_bytes = 64 * KiB;
  const plan_result made = make_plan(g, m);
  ASSERT_EQ(made.plan.sorts.size(), 1U);
  const sort_prediction& sort = made.plan.sorts[0];
  EXPECT_EQ(sort.block_bytes, 256 * KiB);
  EXPECT_EQ(sort.creator.block_bytes, sort.block_bytes);
  EXPECT_EQ(sort.merger.block_bytes, sort.block_bytes);
  EXPECT_EQ(sort.merge_passes, 2U);
  // Six rows to a block, the first runs and what is merged of them, and what is allocated ahead.
  EXPECT_GE(sort.written_bytes, (3000U / 6 + 1) * 256 * KiB);
  EXPECT_LE(sort.peak_bytes, (3000U / 6 + 2 * sort.runs + 10) * 256 * KiB);
  EXPECT_TRUE(made.plan.prediction_bounds);
}

// What a row of fixed width needs is part of the least budget: a block that it fits, eight times in each half.
TEST(Memory, TheLeastOfASortCountsItsRows) {
  const toy_operators toys;
  const auto least_with = [&](const std::string& type) {
    const graph g = good_graph(toys, "nodes:\n  a: {op: source, with: {rows: 3000, type: " + type +
                                         "}}\n  s: {op: sort, in: a, with: {by: [x]}}\n"
                                         "  w: {op: sink, in: s, with: {path: o}}\n");
    return least_memory(g, machine_with(0));
  };
  const uint64_t usual = least_with("{x: u64}");
  EXPECT_EQ(least_with("{x: u64, v: \"bytes[4088]\"}"), usual);
  const uint64_t wide = least_with("{x: u64, v: \"bytes[60000]\", w: \"bytes[60000]\", z: \"bytes[60000]\"}");
  EXPECT_GE(wide, usual + 8 * 256 * KiB - MiB);  // instead of the MiB that the toy asks for
}

// Queues write and read six blocks at once, each as long as a row asks for; rows of 40,000 bytes leave much of them
// free.
TEST(Memory, QueuesOfLongRowsHaveRoomForTheirBlocks) {
  const toy_operators toys;
  const auto plan_of = [&](const std::string& type) {
    const graph g = good_graph(toys, "nodes:\n  a: {op: source, with: {rows: 3000, type: " + type +
                                         "}}\n  s: {op: sort, in: a, with: {by: [x]}}\n"
                                         "  c: {op: concat, in: [s, a]}\n  w: {op: sink, in: c, with: {path: o}}\n");
    return make_plan(g, machine_with(24 * MiB)).plan;
  };
  const physical_plan wide = plan_of("{x: u64, v: \"bytes[39992]\"}");
  uint64_t expected = 0;
  for (const sort_prediction& s : wide.sorts) expected += s.written_bytes;
  const uint64_t by_sorts = expected;
  for (const queue& q : wide.queues)
    if (q.kind == queue_kind::spilling)
      expected +=
          sizes::bytes_in_blocks(3000 * 40'000 - q.memory_bytes, 40'000, 0, sizes::choose_block(q.memory_bytes));
  EXPECT_GT(expected, by_sorts);
  EXPECT_GE(wide.predicted_scratch_written, expected);
  const physical_plan longest = plan_of(
      "{x: u64, a: \"bytes[60000]\", b: \"bytes[60000]\", c: \"bytes[60000]\", d: \"bytes[60000]\", e: "
      "\"bytes[60000]\"}");
  for (const queue& q : longest.queues) {
    if (q.kind == queue_kind::spilling) {
      EXPECT_GE(q.memory_bytes, 6 * 512 * KiB);
    }
  }
}

}  // namespace
}  // namespace flowrun::plan
