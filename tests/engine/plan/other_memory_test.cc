#include "engine/plan/other_memory.h"

#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

constexpr const char* one_sort = R"(nodes:
  a: {op: source, with: {rows: 100000000}}
  s: {op: sort, in: a, with: {by: [x]}}
  w: {op: sink, in: s, with: {path: o}}
)";

TEST(OtherMemory, TheLeastThatSavesAPass) {
  const toy_operators toys;
  const graph g = good_graph(toys, one_sort);
  const machine resources = machine_with(8 * MiB);
  const auto found = memory_for_fewer_passes(g, resources, 1024 * GiB);
  ASSERT_TRUE(found);
  EXPECT_GE(found->passes_before, 2U);
  EXPECT_LT(found->passes_after, found->passes_before);
  EXPECT_LT(found->scratch_after, found->scratch_before);
  // It is what a plan with it says, and half of it isn't enough.
  machine other = resources;
  other.memory_bytes = found->memory_bytes;
  EXPECT_EQ(make_plan(g, other).plan.sorts.at(0).merge_passes, found->passes_after);
  other.memory_bytes /= 2;
  EXPECT_EQ(make_plan(g, other).plan.sorts.at(0).merge_passes, found->passes_before);
  EXPECT_FALSE(memory_for_fewer_passes(g, resources, found->memory_bytes - 1));
}

TEST(OtherMemory, FromOnePassToNone) {
  const toy_operators toys;
  const graph g = good_graph(toys, one_sort);
  const auto found = memory_for_fewer_passes(g, machine_with(512 * MiB), 1024 * GiB);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->passes_before, 1U);
  EXPECT_EQ(found->passes_after, 0U);
  EXPECT_EQ(found->scratch_after, 0U);
}

TEST(OtherMemory, NothingToGain) {
  const toy_operators toys;
  const graph g = good_graph(toys, one_sort);
  EXPECT_FALSE(memory_for_fewer_passes(g, machine_with(64 * GiB), 1024 * GiB));  // stays in memory already
  const graph no_sort = good_graph(toys, R"(nodes:
  a: {op: source, with: {rows: 1000}}
  w: {op: sink, in: a, with: {path: o}}
)");
  EXPECT_FALSE(memory_for_fewer_passes(no_sort, machine_with(8 * MiB), 1024 * GiB));
}

}  // namespace
}  // namespace flowrun::plan
