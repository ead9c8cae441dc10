// check, and the declarations of all operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/error.h"
#include "operators/parts/order/row_out_of_order.h"
#include "operators/registry.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string in = "in: {op: test.rows, with: {type: {a: i8, s: string}}}\n";
const std::string sorted_in = "in: {op: test.rows, with: {type: {a: i8, s: string}, sorted_by: [a, s]}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

std::string with(const std::string& rules) { return "x: {op: check, in: in, with: {" + rules + "}}\n" + out_of_x; }

// The message of the error that the job ends with, the same for every way to cut batches.
std::string failure(const std::string& nodes, const rows& data) {
  std::string message;
  for (size_t most_rows : {1, 2, 100}) {
    try {
      run(nodes, {{"in", data}}, {.seed = most_rows, .most_rows = most_rows});
      return "no error";
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      EXPECT_TRUE(message.empty() || message == e.what()) << message << " / " << e.what();
      message = e.what();
    }
  }
  return message;
}

TEST(check, passes_rows_on) {
  const rows data = {"-1,b", "2,a", "2,b"};
  EXPECT_EQ(run_all_ways(in + with("sorted: [a, s], unique: [a, s], empty: false, count: 3"), {{"in", data}}), data);
  EXPECT_EQ(run_all_ways(in + with("empty: true, count: 0"), {{"in", {}}}), rows());
  EXPECT_EQ(run(in + with("count: 3"), {{"in", data}}).values.at("x.rows"), "3");
}

TEST(check, names_the_row_that_is_out_of_order) {
  EXPECT_EQ(failure(in + with("sorted: [a]"), {"1,x", "3,y", "-2,z", "4,z"}),
            "check 'x': row 2 is out of order by a: {a: -2, s: \"z\"} comes after {a: 3, s: \"y\"}");
  EXPECT_THAT(failure(in + with("sorted: [-a, s]"), {"1,x", "1,y", "1,a"}),
              HasSubstr("row 2 is out of order by -a, s"));
}

TEST(check, hands_over_the_texts_of_the_row_as_they_are) {
  try {
    run(in + with("sorted: [a]"), {{"in", {"3,x", "1,b c\"d"}}}, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const row_out_of_order& problem) {
    EXPECT_EQ(problem.node(), "x");
    EXPECT_EQ(problem.row(), 1u);
    EXPECT_EQ(problem.texts(), (std::map<std::string, std::string>{{"s", "b c\"d"}}));
  }
}

TEST(check, names_the_row_that_repeats) {
  EXPECT_THAT(failure(sorted_in + with("unique: [a]"), {"1,x", "3,y", "3,z"}), HasSubstr("row 2 repeats a"));
  EXPECT_THAT(failure(in + with("sorted: [a, s], unique: [s, a]"), {"1,x", "1,x"}), HasSubstr("row 1 repeats s, a"));
}

TEST(check, names_the_first_row_that_breaks_a_rule) {
  EXPECT_THAT(failure(in + with("sorted: [a, s], unique: [a]"), {"1,x", "2,x", "2,y", "1,z"}),
              HasSubstr("row 2 repeats a"));
  EXPECT_THAT(failure(in + with("sorted: [a, s], unique: [a]"), {"1,x", "0,x", "2,y", "2,z"}),
              HasSubstr("row 1 is out of order"));
}

TEST(check, looks_at_each_row) {
  const rows data = {"1,x", "2,y", "-3,z", "4,w", "-5,v"};
  EXPECT_EQ(run_all_ways(in + with("where: \"a < 5 and row_number < 5\""), {{"in", data}}), data);
  EXPECT_EQ(run_all_ways(in + with("where: \"a < 0\""), {{"in", {}}}), rows());
  EXPECT_EQ(failure(in + with("where: \"a > 0 or s == 'y'\""), data),
            "check 'x': row 2 breaks the rule a > 0 or s == 'y': {a: -3, s: \"z\"}");
  EXPECT_THAT(failure(in + with("where: row_number != 3"), data), HasSubstr("row 3 breaks the rule row_number != 3"));
  EXPECT_THAT(failure(in + with("where: a > 0, sorted: [a]"), data), HasSubstr("row 2 is out of order"));
  EXPECT_THAT(failure(in + with("where: a != 2, sorted: [a]"), data), HasSubstr("row 1 breaks the rule"));
  EXPECT_EQ(output_of(sorted_in + with("where: a < 5"), "x"), "{a: i8, s: string} by a, s");
  EXPECT_EQ(faults_of(in + with("where: a + 1")).size(), 1u);
}

TEST(check, looks_at_the_whole_stream) {
  EXPECT_THAT(failure(in + with("empty: true"), {"1,x"}), HasSubstr("the stream has rows"));
  EXPECT_THAT(failure(in + with("empty: false"), {}), HasSubstr("the stream is empty"));
  EXPECT_THAT(failure(in + with("count: 2"), {"1,x"}), HasSubstr("1 row instead of 2"));
  EXPECT_THAT(failure(in + with("count: 2"), {"1,x", "2,y", "3,z"}), HasSubstr("more than 2 rows"));
}

TEST(check, compares_hashes) {
  const rows data = {"1,x", "2,y", "2,y"};
  const std::string hash =
      run(in + "x: {op: reduce, in: in, with: {hash: true}}\n", {{"in", data}}).values.at("x.hash");
  EXPECT_EQ(run_all_ways(in + with("hash: \"" + hash + "\""), {{"in", {"2,y", "1,x", "2,y"}}}).size(), 3u);
  EXPECT_THAT(failure(in + with("hash: \"" + hash + "\""), {"2,y", "1,x"}), HasSubstr("instead of " + hash));
}

TEST(check, proves_an_order) {
  EXPECT_EQ(output_of(in + with("sorted: [-a]"), "x"), "{a: i8, s: string} by -a");
  EXPECT_EQ(output_of(sorted_in + with("sorted: [a]"), "x"), "{a: i8, s: string} by a, s");
}

TEST(check, reports_faults) {
  EXPECT_THAT(faults_of(in + "x: {op: check, in: in}\n"), ElementsAre(HasSubstr("a check needs a rule")));
  EXPECT_THAT(faults_of(in + with("unique: [a]")), ElementsAre(HasSubstr("op: sort")));
  EXPECT_THAT(faults_of(in + with("hash: abc")), ElementsAre(HasSubstr("'abc' is not a hash")));
  EXPECT_THAT(faults_of(in + with("sorted: [a * 2]")), ElementsAre(HasSubstr("'a * 2' is not a column")));
}

TEST(registry, has_complete_declarations) {
  std::string before;
  for (const exec::operator_definition* definition : built_in_operators()) {
    const plan::operator_declaration& d = definition->declaration;
    EXPECT_LT(before, d.name);
    before = d.name;
    EXPECT_EQ(find_operator(d.name), definition);
    EXPECT_TRUE(d.check && (definition->build || definition->control)) << d.name;
    EXPECT_TRUE(d.summary.ends_with(".")) << d.name;
    EXPECT_FALSE(d.order.empty()) << d.name;
    EXPECT_THAT(d.example, HasSubstr("op: " + d.name)) << d.name;
    for (const plan::parameter_declaration& p : d.parameters)
      EXPECT_TRUE(p.help.ends_with(".")) << d.name << " " << p.name;
  }
  EXPECT_EQ(find_operator("no such operator"), nullptr);
}

}  // namespace
}  // namespace flowrun::operators::testing
