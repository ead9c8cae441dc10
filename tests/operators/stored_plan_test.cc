// What the planner predicts for rows that an operator stores in a way of its own: permute by whole blocks, partition.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/units.h"
#include "engine/plan/explain.h"
#include "engine/plan/physical_plan.h"
#include "operators/parts/algorithms/bit_matrix.h"
#include "operators/parts/order/permute_in_blocks.h"
#include "tests/support/checked_job.h"

namespace flowrun::operators {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct planned {
  plan::physical_plan plan;
  std::string text;
};

planned plan_of(const std::string& node, uint64_t rows, uint64_t memory_bytes) {
  const plan::graph g =
      exec::graph_of(fmt::format("flowrun: 1\nnodes:\n  in: {{op: generate, with: {{rows: {}, columns: {{x: i}}}}}}\n"
                                 "  n: {}\n  out: {{op: file.write_rows, in: n, with: {{path: out.bin}}}}\n",
                                 rows, node));
  plan::machine machine;
  machine.memory_bytes = memory_bytes;
  machine.threads = 2;
  plan::plan_result made = plan::make_plan(g, machine);
  EXPECT_TRUE(made.faults.empty());
  std::string text = plan::explain_text(g, made.plan);
  return {std::move(made.plan), std::move(text)};
}

// Gray code: each bit and the one above.
std::string gray_code(unsigned n) {
  std::string matrix;
  for (unsigned r = 0; r < n; ++r) {
    std::string row(n, '0');
    row[r] = '1';
    if (r > 0) row[r - 1] = '1';
    matrix += (r == 0 ? "" : " ") + row;
  }
  return matrix;
}

constexpr const char* reversal = "{{op: permute, in: in, with: {{bits: reverse, n: {}}}}}";

TEST(stored_plan, a_permutation_of_whole_blocks) {
  const unsigned n = 27;  // 1 GiB
  const std::string matrix = gray_code(n);
  const planned found =
      plan_of(fmt::format("{{op: permute, in: in, with: {{matrix: \"{}\"}}}}", matrix), uint64_t{1} << n, 64 * MiB);
  ASSERT_EQ(found.plan.sorts.size(), 1U);
  const plan::sort_prediction& s = found.plan.sorts[0];
  EXPECT_TRUE(s.in_blocks);
  EXPECT_TRUE(s.known);
  std::string problem;
  const auto how = placement_of(*bit_matrix::parse(matrix, problem),
                                record::row_type({{"x", record::value_type::of(record::type_kind::u64)}}),
                                found.plan.share_of(s.node, plan::node_part::intake), found.plan.kept_of(s.node), 0);
  ASSERT_TRUE(how.has_value());
  EXPECT_FALSE(how->in_memory);
  EXPECT_EQ(s.runs, uint64_t{1} << (n - how->shape.memoryload));
  // Rows and the headers of their blocks, whole pages.
  EXPECT_GE(s.written_bytes, GiB);
  EXPECT_LT(s.written_bytes, GiB + GiB / 2);
  EXPECT_EQ(found.plan.predicted_scratch_written, s.written_bytes);
  EXPECT_THAT(found.text, HasSubstr("no sort: 1.00 GiB in"));
  EXPECT_THAT(found.text, Not(HasSubstr("merge pass")));
}

TEST(stored_plan, a_permutation_that_fits) {
  const planned found = plan_of(fmt::format(reversal, 20), 1 << 20, 64 * MiB);
  ASSERT_EQ(found.plan.sorts.size(), 1U);
  EXPECT_FALSE(found.plan.sorts[0].in_blocks);
  EXPECT_EQ(found.plan.predicted_scratch_written, 0U);
  EXPECT_THAT(found.text, HasSubstr("8.00 MiB stay in memory"));
}

TEST(stored_plan, a_permutation_that_sorts) {
  const planned by_bits = plan_of(fmt::format(reversal, 27), uint64_t{1} << 27, 64 * MiB);
  ASSERT_EQ(by_bits.plan.sorts.size(), 1U);
  EXPECT_FALSE(by_bits.plan.sorts[0].in_blocks);
  EXPECT_THAT(by_bits.text, HasSubstr("merge pass"));
  const planned computed = plan_of("{op: permute, in: in, with: {to: x}}", 100'000'000, 64 * MiB);
  EXPECT_FALSE(computed.plan.sorts[0].in_blocks);
  EXPECT_GT(computed.plan.predicted_scratch_written, 1'000'000'000U);  // rows and places
}

TEST(stored_plan, buckets_beyond_the_memory) {
  const std::string deal = "{op: partition, in: in, with: {by: \"x & 255\", buckets: 256}}";
  EXPECT_EQ(plan_of(deal, 1 << 20, 64 * MiB).plan.predicted_scratch_written, 0U);
  const planned found = plan_of(deal, 1 << 27, 64 * MiB);
  EXPECT_TRUE(found.plan.prediction_known);
  EXPECT_GE(found.plan.predicted_scratch_written, GiB - 32 * MiB);
  EXPECT_LE(found.plan.predicted_scratch_written, GiB + GiB / 32);
  EXPECT_EQ(found.plan.predicted_scratch_read, found.plan.predicted_scratch_written);
  EXPECT_EQ(found.plan.predicted_peak_scratch, found.plan.predicted_scratch_written);
}

}  // namespace
}  // namespace flowrun::operators
