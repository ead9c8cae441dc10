// tokens: texts cut into words.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string lines_in = "in: {op: test.rows, with: {type: {n: u16, line: string}, sorted_by: [n]}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

TEST(tokens, cuts_random_texts) {
  std::mt19937_64 random(1);
  rows input, words, separated;
  for (int i = 0; i < 800; ++i) {
    const std::string letters = "abXY09_ -.;";
    std::string line;
    for (size_t k = random() % 60; k > 0; --k) line += letters[random() % letters.size()];
    input.push_back(fmt::format("{},{}", i, line));
    const auto cut = [&](const auto& in_token, rows& out) {
      for (size_t at = 0; at < line.size();) {
        size_t end = at;
        while (end < line.size() && in_token(line[end])) ++end;
        if (end > at) out.push_back(fmt::format("{},{}", i, line.substr(at, end - at)));
        at = std::max(end, at + 1);
      }
    };
    cut([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }, words);
    cut([](char c) { return c != ' ' && c != '-'; }, separated);
  }
  const auto nodes = [](const std::string& with) {
    return lines_in + "x: {op: tokens, in: in, with: {text: line, keep: [n]" + with + "}}\n" + out_of_x;
  };
  EXPECT_EQ(run_all_ways(nodes(""), {{"in", input}}), words);
  EXPECT_EQ(run_all_ways(nodes(", separators: \" -\""), {{"in", input}}), separated);
}

TEST(tokens, computes_the_text_and_names_the_column) {
  const std::string nodes =
      lines_in + "x: {op: tokens, in: in, with: {text: \"lower(concat(line, ' End'))\", as: word}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,Ab cD", "2,", "3,EF"}}}),
              ElementsAre("ab", "cd", "end", "end", "ef", "end"));
  EXPECT_EQ(output_of(nodes, "x"), "{word: string} by nothing");
}

TEST(tokens, keeps_words_of_utf_8_whole) {
  const std::string nodes = lines_in + "x: {op: tokens, in: in, with: {text: line, characters: \"a-z'\"}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,don't naïve 42x"}}}), ElementsAre("don't", "naïve", "x"));
}

TEST(tokens, cuts_fixed_texts) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {k: \"bytes[5]\"}}}\nx: {op: tokens, in: in, with: {text: k, characters: "
      "\"a\\\\-c\"}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"a-bac", "bbbbb", "c--cb"}}}), ElementsAre("a-", "ac", "c--c"));
}

TEST(tokens, makes_n_grams_with_a_window) {
  const std::string nodes = lines_in +
                            "words: {op: tokens, in: in, with: {text: line}}\n"
                            "pairs: {op: window, in: words, with: {before: 1, let: {pair: \"concat(row[-1].token, ' ', "
                            "token)\"}}}\n"
                            "x: {op: map, in: pairs, with: {pair: pair}}\n" +
                            out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,a b", "2,c"}}}), ElementsAre(" a", "a b", "b c"));
  EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), IsEmpty());
}

TEST(tokens, keeps_the_order_of_kept_columns) {
  EXPECT_EQ(output_of(lines_in + "x: {op: tokens, in: in, with: {text: line, keep: [n]}}\n" + out_of_x, "x"),
            "{n: u16, token: string} by n");
  // Tokens of sorted texts are in no order.
  const std::string sorted = "in: {op: test.rows, with: {type: {line: string}, sorted_by: [line]}}\n";
  EXPECT_EQ(output_of(sorted + "x: {op: tokens, in: in, with: {text: line}}\n" + out_of_x, "x"),
            "{token: string} by nothing");
}

TEST(tokens, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(lines_in + "x: {op: tokens, in: in, with: {" + with + "}}\n" + out_of_x);
  };
  EXPECT_THAT(faults("text: n"), ElementsAre(HasSubstr("'n' is u16")));
  EXPECT_THAT(faults("text: lime"), ElementsAre(HasSubstr("did you mean 'line'")));
  EXPECT_THAT(faults("text: line, keep: [n], as: n"), ElementsAre(HasSubstr("the column 'n' is kept already")));
  EXPECT_THAT(faults("text: line, characters: a, separators: b"), ElementsAre(HasSubstr("either characters or sep")));
  EXPECT_THAT(faults("text: line, characters: z-a"), ElementsAre(HasSubstr("'z-a' is no set of characters")));
  EXPECT_THAT(faults("text: line, separators: \"a\\\\\""), ElementsAre(HasSubstr("no set of characters")));
}

}  // namespace
}  // namespace flowrun::operators::testing
