// Values that YAML ends too early: what is said, and that the line is right once the advice is followed.
#include <gtest/gtest.h>

#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

struct slip {
  std::string value, says, message;  // says: the value that is advised
};
const std::string ended = "the text in quotes ended before this";
const std::string colon = "a ': ' in a text without quotes";

const std::vector<slip> slips = {
    {"status == 'a: b'", "\"status == 'a: b'\"", colon},
    {"status == \"a: b\"", "'status == \"a: b\"'", colon},
    {"(a == 'x: y') == b", "\"(a == 'x: y') == b\"", colon},
    {"'DE' == country", "\"'DE' == country\"", ended},
    {"\"DE\" == country", "'\"DE\" == country'", ended},
    {"'country == 'DE''", "\"country == 'DE'\"", ended},
    {"\"country == \"DE\"\"", "'country == \"DE\"'", ended},
    {"'a' == b or c == 'd'", "\"'a' == b or c == 'd'\"", ended},
    {"'x' == r'\\d'", "'''x'' == r''\\d'''", ended},
};

TEST(yaml_quoting, says_how_to_write_the_value) {
  for (const slip& s : slips) {
    const std::string hint = "write where: " + s.says + ", with quotes around all of the text";
    const auto check = [&](const std::string& before, const std::string& after) {
      const fault f = testing::only_fault(before + s.value + after);
      EXPECT_EQ(f.message, s.message) << before + s.value;
      EXPECT_EQ(f.hint, hint) << before + s.value;
      EXPECT_EQ(testing::faults_in(before + s.says + after), std::vector<std::string>()) << s.says;
    };
    check("flowrun: 1\nnodes:\n  a: {op: x}\n  f: {op: filter, in: a, with: {where: ", "}}\n");
    check("flowrun: 1\nnodes:\n  a: {op: x}\n  f: {op: filter, in: a, with: {where: ", ", y: 3}}\n");
    check("flowrun: 1\nnodes:\n  a: {op: x}\n  f:\n    op: filter\n    in: a\n    with:\n      where: ", "\n");
    check("flowrun: 1\nnodes:\n  a: {op: x}\n  f:\n    op: filter\n    in: a\n    with:\n      where: ", "  # why\n");
  }
}

// An expression that YAML cuts at its brackets is advised as a whole, and is one when that is followed.
TEST(yaml_quoting, an_expression_without_quotes_is_written_whole) {
  const std::vector<std::pair<std::string, std::string>> cut = {
      {"regex_matches(page, r'^/(home|x_y)/\\d{2}$')", "'regex_matches(page, r''^/(home|x_y)/\\d{2}$'')'"},
      {"regex_matches(page, '^/(home|x_y)/[0-9]{2}$')", "\"regex_matches(page, '^/(home|x_y)/[0-9]{2}$')\""},
      {"regex_matches(page, \"^\\d{2}$\")", "'regex_matches(page, \"^\\d{2}$\")'"},
  };
  for (const auto& [value, advised] : cut) {
    const fault f = testing::only_fault(testing::job_with("{where: " + value + ", y: 3}"));
    EXPECT_EQ(f.hint, "write where: " + advised + ", with quotes around all of the text") << value;
    EXPECT_EQ(testing::faults_in(testing::job_with("{where: " + advised + ", y: 3}")), std::vector<std::string>());
  }
}

TEST(yaml_quoting, escapes_are_not_doubled) {
  const fault f = testing::only_fault(testing::job_with(R"x({where: "c in ('New \\"York\\"', 'x')"})x"));
  EXPECT_EQ(f.hint, R"(write where: 'c in (''New "York"'', ''x'')', with quotes around all of the text)");
}

TEST(yaml_quoting, a_text_that_makes_no_sense_is_not_written_anew) {
  const fault f = testing::only_fault(testing::job_with("{where: 'it's' == country}"));
  EXPECT_EQ(f.message, ended);
  EXPECT_EQ(f.hint, "put the whole text in quotes, and inside of '…' write each ' twice");
}

// Two keys in one line are no text.
TEST(yaml_quoting, a_key_in_a_wrong_place_stays_one) {
  EXPECT_EQ(testing::only_fault("flowrun: 1\nnodes:\n  a: op: filter\n").message, "a ':' where no value can begin");
  EXPECT_EQ(testing::only_fault(testing::job_with("{type: {key: bytes[10]}}")).message.substr(0, 24),
            "'bytes[10]' needs quotes");
}

}  // namespace
}  // namespace flowrun::specs
