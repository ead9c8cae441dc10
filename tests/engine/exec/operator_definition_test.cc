// What define() makes of an operator's check and build.
#include "engine/exec/operator_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operators/registry.h"
#include "specs/yaml_reader.h"

namespace flowrun::exec {
namespace {

struct bound_condition {
  std::optional<expr::expression> where;
  void bind(const expr::scalar_values& values) { expr::bind(where, values); }
};
struct forgotten_condition {
  std::optional<expr::expression> where;
};

template <class Settings>
Settings check_condition(plan::node_checker& node) {
  Settings out;
  out.where = node.condition("where", expr::scope{.row = &node.input_type()});
  node.set_output(0, node.input_type());
  return out;
}

template <class Settings>
assembly build_nothing(build_context&, const Settings&) {
  return {};
}

template <class Settings>
std::vector<fault> faults_with(const std::string& where) {
  plan::operator_declaration declaration;
  declaration.name = "test.only";
  declaration.inputs = {{"in", "rows"}};
  declaration.outputs = {{"out", "rows"}};
  declaration.parameters = {{.name = "where", .kind = plan::parameter_kind::condition, .help = "Which."}};
  const operator_definition definition =
      define<Settings>(std::move(declaration), check_condition<Settings>, build_nothing<Settings>);
  plan::vocabulary catalog = operators::built_in_vocabulary();
  catalog.add(&definition.declaration);
  const specs::read_result read = specs::read_job(
      "flowrun: 1\nnodes:\n  rows: {op: generate, with: {rows: 1, columns: {k: i}}}\n  some: {op: test.only, in: rows" +
          (where.empty() ? "" : ", with: {where: \"" + where + "\"}") +
          "}\n  all: {op: file.write_rows, in: some, with: {path: x}}\n",
      "job.yaml");
  EXPECT_TRUE(read.faults.empty());
  return plan::check(std::make_shared<specs::JobSpec>(read.job), catalog, plan::known_files()).faults;
}

TEST(operator_definition, settings_that_hold_expressions_can_be_bound_to_scalars) {
  EXPECT_TRUE(faults_with<bound_condition>("k > 1").empty());
  EXPECT_TRUE(faults_with<forgotten_condition>("").empty());
  try {
    faults_with<forgotten_condition>("k > 1");
    FAIL() << "in a loop, its scalars would have no values";
  } catch (const error& problem) {
    EXPECT_EQ(problem.kind(), error_kind::internal);
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("gave_expressions"));
  }
  EXPECT_EQ(faults_with<forgotten_condition>("j > 1").size(), 1U);  // the user's fault comes first
}

}  // namespace
}  // namespace flowrun::exec
