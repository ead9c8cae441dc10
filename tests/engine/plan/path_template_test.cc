// Paths with names of columns: what they say, what is wrong with them, and which of them may name one file.
#include "engine/plan/path_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flowrun::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

path_template parsed(const std::string& text) {
  path_template::problem why;
  const auto out = path_template::parse(text, why);
  if (!out) ADD_FAILURE() << text << ": " << why.message;
  return out.value_or(path_template());
}

// "at: message"
std::string problem_of(const std::string& text) {
  path_template::problem why;
  if (path_template::parse(text, why)) return "none";
  return std::to_string(why.at) + ": " + why.message;
}

TEST(path_template, parts) {
  const path_template t = parsed("out/country={country}/{year}-{country}.csv");
  EXPECT_THAT(t.columns(), ElementsAre("country", "year"));
  ASSERT_EQ(t.parts().size(), 3U);
  EXPECT_EQ(t.parts()[0].literal, "out/country=");
  EXPECT_EQ(t.parts()[0].at, 13U);
  EXPECT_EQ(t.parts()[1].literal, "/");
  EXPECT_EQ(t.tail(), ".csv");
  EXPECT_EQ(t.directory(), "out");
  EXPECT_EQ(t.shown(), "out/country={country}/{year}-{country}.csv");
  EXPECT_EQ(t.rest(), "country={country}/{year}-{country}.csv");
  EXPECT_EQ(t.text_in("/t{x"), "/t{{x/country={country}/{year}-{country}.csv");
  EXPECT_EQ(parsed("{a}").directory(), ".");
  EXPECT_EQ(parsed("{a}").rest(), "{a}");
  EXPECT_EQ(parsed("/{a}").directory(), "/");
}

TEST(path_template, braces) {
  EXPECT_FALSE(parsed("plain.csv").names_columns());
  EXPECT_EQ(parsed("a{{b}}.csv").tail(), "a{b}.csv");
  EXPECT_FALSE(parsed("a{{b}}.csv").names_columns());
  EXPECT_EQ(parsed("{{{a}}}").parts()[0].literal, "{");
  EXPECT_EQ(parsed("{{{a}}}").tail(), "}");
  for (const char* path : {"a{b", "}{", "{}", "x", ""}) EXPECT_EQ(parsed(path_template::escaped(path)).tail(), path);
}

// What a parameter has brought in names no columns, whatever braces it has.
TEST(path_template, braces_of_parameters) {
  const auto parsed_with = [](const std::string& text, std::vector<std::pair<size_t, size_t>> inserted) {
    specs::Value value;
    value.mutable_scalar()->set_text(text);
    for (const auto& [begin, end] : inserted) {
      specs::Span& span = *value.mutable_scalar()->add_inserted();
      span.set_begin(begin);
      span.set_end(end);
    }
    path_template::problem why;
    const auto out = path_template::parse(value, why);
    return out ? out->shown() + (out->names_columns() ? " of " + out->columns()[0] : "") : why.message;
  };
  EXPECT_EQ(parsed_with("a{b/{i}.csv", {{0, 3}}), "a{b/{i}.csv of i");
  EXPECT_EQ(parsed_with("a{b}/x.csv", {{0, 4}}), "a{b}/x.csv");
  EXPECT_EQ(parsed_with("a{{b}}/{i}", {{0, 6}}), "a{{b}}/{i} of i");
  EXPECT_EQ(parsed_with("{{i}", {{0, 1}}), "{{i} of i");
  EXPECT_EQ(parsed_with("{{i}", {{1, 2}}), "{{i} of {i");
  EXPECT_EQ(parsed_with("{i}", {{1, 2}}), "{i} of i");
  EXPECT_EQ(parsed_with("{i}", {}), "{i} of i");
  EXPECT_EQ(parsed_with("{i}", {{0, 1}}), "no '{' belongs to this '}'");
}

TEST(path_template, problems) {
  EXPECT_EQ(problem_of("a{b"), "1: no '}' belongs to this '{'");
  EXPECT_EQ(problem_of("a{b{c}"), "1: no '}' belongs to this '{'");
  EXPECT_EQ(problem_of("a}b"), "1: no '{' belongs to this '}'");
  EXPECT_EQ(problem_of("{a}}"), "3: no '{' belongs to this '}'");
  EXPECT_EQ(problem_of("a{}b"), "1: {} names no column");
  EXPECT_THAT(problem_of("{a}{b}"), HasSubstr("4: nothing stands between {a} and {b}"));
  EXPECT_THAT(problem_of("out/{a}/"), HasSubstr("names a directory"));
  EXPECT_THAT(problem_of("out/{a}/../x"), HasSubstr("'..' stands behind {a}"));
  EXPECT_THAT(problem_of("out/{a}/.."), HasSubstr("'..' stands behind {a}"));
  EXPECT_THAT(problem_of("{a}/x/../{b}"), HasSubstr("'..' stands behind {a}"));
  EXPECT_EQ(problem_of("../{a}..b"), "none");
}

TEST(path_template, may_name_same) {
  const auto same = [](const char* a, const char* b) {
    const bool out = may_name_same(parsed(a), parsed(b));
    EXPECT_EQ(may_name_same(parsed(b), parsed(a)), out) << a << " " << b;
    return out;
  };
  EXPECT_TRUE(same("out/{a}.csv", "out/DE.csv"));
  EXPECT_TRUE(same("out/{a}.csv", "./out//{b}.csv"));
  EXPECT_TRUE(same("{a}/x", "y/{b}"));
  EXPECT_TRUE(same("{a}-1-{b}", "1-{c}-1-2"));
  EXPECT_FALSE(same("out/{a}.csv", "out/DE.txt"));
  EXPECT_FALSE(same("out/{a}.csv", "out/x/DE.csv"));
  EXPECT_FALSE(same("out/a={a}/x", "out/b={b}/x"));
  EXPECT_FALSE(same("one/{a}", "two/{a}"));
  EXPECT_FALSE(same("{a}/x", "{a}/y"));
  const std::string long_name(300'000, 'x');  // longer than any path
  EXPECT_FALSE(same(("{a}" + long_name).c_str(), ("{a}" + long_name).c_str()));
}

}  // namespace
}  // namespace flowrun::plan
