// Where files of text are cut: at ends of records, also where line ends lie within quotes.
#include "cluster/text_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "engine/base/error.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const text_form lines;
const text_form csv{'\n', {}};

std::vector<uint64_t> ends(const std::string& text, const text_form& form, const std::vector<uint64_t>& near,
                           uint64_t from = 0) {
  const temporary_directory home;
  home.write("x", text);
  const std::atomic<bool> stop{false};
  return ends_of_records(home / "x", form, from, near, stop);
}

TEST(text_cuts, lines_are_cut_behind_the_next_line_end) {
  EXPECT_THAT(ends("ab\ncd\nef", lines, {1, 2, 3, 4, 5, 6, 7}), ElementsAre(3, 3, 3, 6, 6, 6, 8));
  EXPECT_THAT(ends("abcdef", lines, {2, 4}), ElementsAre(6, 6));
  EXPECT_THAT(ends("a;b\n;c", {';', {'\0', std::nullopt}}, {3}), ElementsAre(5));
  EXPECT_THAT(ends("ab\n", lines, {}), IsEmpty());
}

TEST(text_cuts, a_line_may_be_longer_than_what_is_read_at_once) {
  const std::string text = "abc\n" + std::string(5'000'000, 'x') + "\nb\n";
  EXPECT_THAT(ends(text, lines, {4, 5, 4'000'000}), ElementsAre(4, 5'000'005, 5'000'005));
  EXPECT_THAT(ends(text, csv, {4, 5, 4'000'000, 5'000'006}), ElementsAre(4, 4, 4, 5'000'005));
}

TEST(text_cuts, line_ends_within_quotes_are_none) {
  const std::string text = "1,a\n2,\"\n\n\"\n\"\"\n3";
  EXPECT_THAT(ends(text, csv, {3, 4, 8, 9, 11, 12, 14}), ElementsAre(0, 4, 4, 4, 11, 11, 14));
  EXPECT_THAT(ends(text, csv, {8, 12}, 4), ElementsAre(4, 11));
  EXPECT_THAT(ends(text, {'\n', {',', std::nullopt}}, {8}), ElementsAre(8));
}

TEST(text_cuts, a_byte_order_mark_goes_with_what_follows) {
  EXPECT_THAT(ends("\xEF\xBB\xBF\"a\nb\"\nc\n", csv, {1, 3, 6, 9, 11}), ElementsAre(0, 0, 0, 9, 11));
}

TEST(text_cuts, a_field_that_never_ends_is_left_to_its_task) {
  const std::string text = "123\n\"" + std::string(70'000'000, 'x');
  EXPECT_THAT(ends(text, csv, {4, 69'000'000, 70'000'000}), ElementsAre(4, 4, 4));
}

TEST(text_cuts, stops) {
  const temporary_directory home;
  home.write("x", "a\n");
  const std::atomic<bool> stop{true};
  EXPECT_THROW(ends_of_records(home / "x", csv, 0, {1}, stop), error);
}

// Beside a loop that looks at each byte.
TEST(text_cuts, random_texts) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t i = random() % 40; i > 0; --i) text += "a,\"\n"[random() % 4];
    std::vector<bool> begins(text.size() + 1, false);  // a record there
    begins[0] = true;
    bool quoted = false, at_start = true;
    for (size_t i = 0; i < text.size(); ++i) {
      if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        ++i;
      } else if (quoted) {
        quoted = text[i] != '"';
        at_start = false;
      } else {
        quoted = at_start && text[i] == '"';
        at_start = text[i] == ',' || text[i] == '\n';
        begins[i + 1] = text[i] == '\n';
      }
    }
    std::vector<uint64_t> near, expected;
    for (uint64_t at = 1; at <= text.size(); ++at) {
      if (random() % 3 != 0) continue;
      near.push_back(at);
      uint64_t end = at;
      while (!begins[end]) --end;
      // Nothing is cut within the first three bytes, which might be a byte order mark.
      expected.push_back(end <= 3 ? 0 : end);
    }
    EXPECT_EQ(ends(text, csv, near), expected) << text;
  }
}

}  // namespace
}  // namespace flowrun::cluster
