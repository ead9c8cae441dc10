// Faults in a user's text: how they are shown, and which word is offered instead of a mistyped one.
#include "engine/base/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowrun {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view job =
    "flowrun: 1\n"
    "nodes:\n"
    "  a: {op: sorted, in: edges}\n";

TEST(fault, is_shown_as_a_compiler_does) {
  const fault f{{"job.yaml", 3, 11}, "unknown operator 'sorted'", "an operator", "did you mean 'sort'?"};
  EXPECT_EQ(render(f, job),
            "job.yaml:3:11: error: unknown operator 'sorted'\n"
            "  3 |   a: {op: sorted, in: edges}\n"
            "    |           ^\n"
            "  expected: an operator\n"
            "  help: did you mean 'sort'?\n");
}

TEST(fault, leaves_out_what_is_unknown) {
  EXPECT_EQ(render(fault{{}, "no such job", "", ""}, ""), "error: no such job\n");
  EXPECT_EQ(render(fault{{"job.yaml", 0, 0}, "empty", "", ""}, ""), "job.yaml: error: empty\n");
  // A position outside the text: no excerpt.
  EXPECT_EQ(render(fault{{"job.yaml", 99, 1}, "gone", "", ""}, job), "job.yaml:99:1: error: gone\n");
}

TEST(fault, the_caret_follows_tabs_and_stays_on_the_line) {
  EXPECT_THAT(render(fault{{"j", 1, 3}, "m", "", ""}, "\t\tx: 1"), HasSubstr("    | \t\t^\n"));
  EXPECT_THAT(render(fault{{"j", 1, 500}, "m", "", ""}, "abc"), HasSubstr("    |    ^\n"));
  EXPECT_THAT(render(fault{{"j", 1, 0}, "m", "", ""}, "abc"), HasSubstr("    | ^\n"));
}

TEST(fault, a_hostile_line_is_cut_and_cleaned) {
  std::string text = std::string(100000, 'a') + "\x1b[31m!" + std::string(100000, 'b');
  const std::string shown = render(fault{{"j", 1, 100001}, "m", "", ""}, text);
  EXPECT_LT(shown.size(), 600U);
  EXPECT_THAT(shown, Not(HasSubstr("\x1b")));
  EXPECT_THAT(shown, HasSubstr("a?[31m!b"));
  // The caret stands below the byte that was named.
  const size_t excerpt = shown.find("1 | ") + 4;
  const size_t caret = shown.find("  | ", excerpt) + 4;
  EXPECT_EQ(shown.find('?', excerpt) - excerpt, shown.find('^', caret) - caret);
}

TEST(fault, carriage_returns_are_not_shown) {
  EXPECT_THAT(render(fault{{"j", 1, 1}, "m", "", ""}, "abc\r\ndef\r\n"), HasSubstr("1 | abc\n"));
}

TEST(fault, all_come_by_position_each_once) {
  const fault late{{"job.yaml", 3, 11}, "late", "", ""};
  const fault early{{"job.yaml", 1, 1}, "early", "", ""};
  const std::string shown = render(std::vector<fault>{late, early, late}, job);
  EXPECT_LT(shown.find("early"), shown.find("late"));
  EXPECT_EQ(shown.find("late"), shown.rfind("late"));
  EXPECT_THAT(shown, HasSubstr("2 faults in job.yaml\n"));
  EXPECT_THAT(render(std::vector<fault>{early}, job), HasSubstr("1 fault in job.yaml\n"));
  EXPECT_EQ(render(std::vector<fault>{}, job), "");
}

TEST(fault, those_of_several_places_are_counted_apart) {
  const fault option{{"-p inpt=edges", 0, 0}, "the job has no parameter 'inpt'", "", ""};
  const fault one{{"job.yaml", 1, 1}, "one", "", ""};
  const fault other{{"job.yaml", 2, 1}, "other", "", ""};
  EXPECT_THAT(render(std::vector<fault>{one, option, other}, job),
              HasSubstr("\n3 faults: 1 in -p inpt=edges, 2 in job.yaml\n"));
}

// One wrong name in many expressions is one mistake.
TEST(fault, of_many_alike_the_first_are_shown) {
  std::vector<fault> faults;
  for (int line = 1; line <= 70; ++line) faults.push_back({{"job.yaml", line, 5}, "no column 'amuont'", "", ""});
  faults.push_back({{"job.yaml", 20, 1}, "no column 'amuont'", "one of n", ""});  // of another node
  const std::string said = render(faults, "", of_alike::few);
  EXPECT_EQ(said,
            "job.yaml:1:5: error: no column 'amuont'\njob.yaml:2:5: error: no column 'amuont'\n"
            "job.yaml:3:5: error: no column 'amuont'\n  and 67 more like it, in lines 4 to 70; -v shows all\n"
            "job.yaml:20:1: error: no column 'amuont'\n  expected: one of n\n71 faults in job.yaml\n");
  EXPECT_THAT(render(faults, ""), HasSubstr("job.yaml:69:5: "));
}

TEST(fault, a_few_alike_are_all_shown) {
  std::vector<fault> faults;
  for (int column = 1; column <= 5; ++column) faults.push_back({{"job.yaml", 1, column}, "one", "", ""});
  EXPECT_THAT(render(faults, "", of_alike::few), HasSubstr("job.yaml:1:5: error: one\n5 faults in job.yaml\n"));
  faults.push_back({{"job.yaml", 1, 6}, "one", "", ""});
  EXPECT_THAT(render(faults, "", of_alike::few),
              HasSubstr("job.yaml:1:3: error: one\n  and 3 more like it, in line 1; -v shows all\n6 faults"));
}

TEST(nearest, finds_one_slip_of_each_kind) {
  const std::vector<std::string> words = {"concat", "filter", "group", "join", "map", "sort", "file.read_csv"};
  EXPECT_EQ(nearest("sorted", words), "sort");   // two letters more
  EXPECT_EQ(nearest("srot", words), "sort");     // swapped
  EXPECT_EQ(nearest("filer", words), "filter");  // one missing
  EXPECT_EQ(nearest("gruop", words), "group");
  EXPECT_EQ(nearest("file.read_cvs", words), "file.read_csv");
  EXPECT_EQ(nearest("nap", words), "map");
  EXPECT_EQ(nearest("explode", {"explore", "trek.explode"}), "trek.explode");
}

TEST(nearest, offers_nothing_when_nothing_is_near) {
  const std::vector<std::string> words = {"sort", "map"};
  EXPECT_EQ(nearest("aggregate", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest("xyz", words), "");
  EXPECT_EQ(nearest("sort", {}), "");
  EXPECT_EQ(nearest(std::string(100000, 's'), words), "");
}

TEST(nearest, takes_the_nearer_of_two) {
  EXPECT_EQ(nearest("read_csvs", {"read_rows", "read_csv"}), "read_csv");
  EXPECT_EQ(did_you_mean("read_csvs", {"read_rows", "read_csv"}), "did you mean 'read_csv'?");
  EXPECT_EQ(did_you_mean("gz", {"none", "gzip", "zstd", "xz"}), "did you mean 'gzip'?");
  EXPECT_EQ(did_you_mean("sort", {"map"}), "");
}

TEST(one_of, lists_what_would_be_right) {
  EXPECT_EQ(one_of({"a", "b", "c"}), "one of a, b, c");
  EXPECT_EQ(one_of({"a"}), "a");
  EXPECT_EQ(one_of({}), "");
  EXPECT_EQ(one_of({"a", "b", "c"}, 2), "one of a, b, …");
  EXPECT_EQ(joined({"a", "", "c"}, " or "), "a or  or c");
}

}  // namespace
}  // namespace flowrun
