// What values are called in names of files: nothing that a name can't have, and never the same for two texts.
#include "operators/parts/files/name_text.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace flowrun::operators {
namespace {

std::string name(std::string_view text) {
  std::string out;
  append_name_text(text, out);
  return out;
}

// As any program that reads such names does it.
std::string text_of(const std::string& name) {
  if (name == "__HIVE_DEFAULT_PARTITION__") return {};
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '%') {
      out += static_cast<char>(std::stoi(name.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      out += name[i];
    }
  }
  return out;
}

TEST(name_text, usual_values_stay_as_they_are) {
  for (const char* text : {"DE", "2024-01-31", "-7", "a b", "x.csv", "Köln", "日本", "😀", "a_b", "true", "~"})
    EXPECT_EQ(name(text), text);
}

TEST(name_text, what_a_name_cannot_have) {
  EXPECT_EQ(name("a/b"), "a%2Fb");
  EXPECT_EQ(name(std::string_view("a\0b", 3)), "a%00b");
  EXPECT_EQ(name("."), "%2E");
  EXPECT_EQ(name(".."), "%2E.");
  EXPECT_EQ(name("../../etc"), "%2E.%2F..%2Fetc");
  EXPECT_EQ(name(".hidden"), "%2Ehidden");
  EXPECT_EQ(name(""), "__HIVE_DEFAULT_PARTITION__");
  EXPECT_EQ(name("__HIVE_DEFAULT_PARTITION__"), "%5F_HIVE_DEFAULT_PARTITION__");
  EXPECT_EQ(name("100%"), "100%25");
  EXPECT_EQ(name("a=b:c"), "a%3Db%3Ac");
  EXPECT_EQ(name("a\nb\x7F"), "a%0Ab%7F");
  EXPECT_EQ(name("\xC3"), "%C3");                // half of a character
  EXPECT_EQ(name("\xC2\x85"), "%C2%85");         // a control character beyond ASCII
  EXPECT_EQ(name("\xED\xA0\x80"), "%ED%A0%80");  // half of a surrogate pair
  EXPECT_EQ(name("\xC0\xAF"), "%C0%AF");         // '/' written too long
}

TEST(name_text, no_two_texts_have_one_name) {
  std::mt19937 random(1);
  const std::string_view some("%2F/.\0\x80\xC3\xA4_aE\n", 13);
  std::set<std::string> texts, names;
  for (int i = 0; i < 200000; ++i) {
    std::string text(random() % 6, '\0');
    for (char& c : text) c = some[random() % some.size()];
    const std::string called = name(text);
    EXPECT_EQ(text_of(called), text);
    EXPECT_EQ(called.find('/'), std::string::npos);
    EXPECT_NE(called.front(), '.');
    texts.insert(text);
    names.insert(called);
  }
  EXPECT_EQ(texts.size(), names.size());
}

}  // namespace
}  // namespace flowrun::operators
