#include "specs/source_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/specs/reading.h"

namespace flowrun::specs {
namespace {

using ::testing::ElementsAre;
using testing::faults_in;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(source_text, control_characters_are_refused) {
  EXPECT_THAT(faults_in(std::string("flowrun: 1\nname: a\0b\n", 21)),
              ElementsAre("2:8 a control character (byte 0x00)"));
  // yaml-cpp takes this one for the end of the file
  EXPECT_THAT(faults_in("flowrun: 1\nname: a\x04\nnodes: 7\n"), ElementsAre("2:8 a control character (byte 0x04)"));
  EXPECT_THAT(faults_in("a: b\x7F\n"), ElementsAre("1:5 a control character (byte 0x7F)"));
  EXPECT_THAT(faults_in("a: b\rc: d\n"), ElementsAre("1:5 a carriage return without a line feed"));
}

TEST(source_text, tabs_do_not_indent) {
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n\ta: {op: x}\n  \tb: {op: y}\n"),
              ElementsAre("3:1 a tab in the indentation", "4:3 a tab in the indentation"));
  EXPECT_THAT(faults_in("flowrun: 1\n\t\nnodes:\n  a: {op: x}\n"), ElementsAre("2:1 a tab in the indentation"));
  EXPECT_THAT(faults_in("flowrun: 1\nnodes:\n  a:\t{op: x}\t# here it is fine\n"), ElementsAre());
}

TEST(source_text, wrong_utf8_is_refused) {
  for (const char* wrong : {"\xFF", "\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(wrong));
    EXPECT_THAT(faults_in(std::string("flowrun: 1\nname: ") + wrong + "\n"),
                ElementsAre(StartsWith("2:7 not UTF-8: byte 0x")));
  }
  for (const char* right :
       {"", "a", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_TRUE(is_utf8(right));
}

// What yaml-cpp would take a gigabyte for.
TEST(source_text, brackets_are_bounded) {
  const std::string open(max_flow_signs, '[');
  EXPECT_THAT(faults_in("a:\n" + open + "["), ElementsAre("2:1000001 more than 1000000 brackets, braces and commas"));
  EXPECT_THAT(faults_in("[a" + std::string(max_flow_signs, ',')), ElementsAre(HasSubstr("more than 1000000")));
  fault_sink faults("job.yaml");
  EXPECT_TRUE(check_text(open, faults));
}

TEST(source_text, utf16_is_named) {
  EXPECT_THAT(faults_in(std::string("\xFF\xFE"
                                    "f\0l\0",
                                    6)),
              ElementsAre("1:1 the file is UTF-16"));
}

TEST(source_text, finds_places) {
  const source_text source("ab\ncd ${x} $${y}\n");
  EXPECT_EQ(source.offset_of(2, 1), 3u);
  EXPECT_EQ(source.offset_of(9, 1), std::nullopt);
  EXPECT_EQ(source.offset_of(0, 1), std::nullopt);
  EXPECT_EQ(source.position_of(4).line(), 2);
  EXPECT_EQ(source.position_of(4).column(), 2);
  Position start;
  start.set_line(2);
  start.set_column(1);
  EXPECT_EQ(source.nth_variable(start, 0).column(), 4);
  EXPECT_EQ(source.nth_variable(start, 1).column(), 10);
  EXPECT_EQ(source.nth_variable(start, 2).column(), 1);
}

TEST(source_text, the_front_of_a_text_has_whole_characters) {
  EXPECT_EQ(front_of("abc", 5), "abc");
  EXPECT_EQ(front_of("abc", 2), "ab");
  EXPECT_EQ(front_of("aé…", 1), "a");
  EXPECT_EQ(front_of("aé…", 2), "a");
  EXPECT_EQ(front_of("aé…", 3), "aé");
  EXPECT_EQ(front_of("aé…", 5), "aé");
  EXPECT_EQ(front_of("aé…", 6), "aé…");
  EXPECT_EQ(front_of("", 0), "");
}

TEST(source_text, faults_are_bounded) {
  std::string text = "flowrun: 1\nnodes:\n  a: {op: x}\n";
  for (int i = 0; i < 5000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const std::vector<std::string> faults = faults_in(text);
  ASSERT_EQ(faults.size(), fault_sink::max_faults + 1);
  EXPECT_THAT(faults.back(), HasSubstr("more faults follow"));
}

}  // namespace
}  // namespace flowrun::specs
