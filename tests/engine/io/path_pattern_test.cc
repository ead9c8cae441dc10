#include "engine/io/path_pattern.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class path_pattern_test : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"b.csv", "a.csv", "a.txt", ".hidden.csv", "logs/2023/x.gz", "logs/2024/y.gz", "logs/z.gz",
                             "logs/.old/w.gz", "odd/[1].csv", "odd/1.csv"}) {
      std::filesystem::create_directories(std::filesystem::path(home / name).parent_path());
      std::ofstream(home / name) << name;
    }
    std::filesystem::create_directories(home / "dir.csv");
  }
  // Without the directory of the test.
  std::vector<std::string> matches(const std::string& pattern) {
    std::vector<std::string> out;
    for (const std::string& path : match_paths(home / pattern).paths)
      out.push_back(path.substr(std::string(home / "").size()));
    return out;
  }
  temporary_directory home;
};

TEST_F(path_pattern_test, wildcards_within_a_name) {
  EXPECT_THAT(matches("*.csv"), ElementsAre("a.csv", "b.csv"));  // no directory, and nothing hidden
  EXPECT_THAT(matches("?.csv"), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(matches("[!a].*"), ElementsAre("b.csv"));
  EXPECT_THAT(matches("[a-b].txt"), ElementsAre("a.txt"));
  EXPECT_THAT(matches(".h*"), ElementsAre(".hidden.csv"));
  EXPECT_THAT(matches("logs/*/?.gz"), ElementsAre("logs/2023/x.gz", "logs/2024/y.gz"));
  EXPECT_THAT(matches("*/2024/y.gz"), ElementsAre("logs/2024/y.gz"));
}

TEST_F(path_pattern_test, any_directories) {
  EXPECT_THAT(matches("**/*.gz"), ElementsAre("logs/2023/x.gz", "logs/2024/y.gz", "logs/z.gz"));
  EXPECT_THAT(matches("logs/**/*.gz"), ElementsAre("logs/2023/x.gz", "logs/2024/y.gz", "logs/z.gz"));
  EXPECT_THAT(matches("**/**/x.gz"), ElementsAre("logs/2023/x.gz"));  // once, although there are several ways
  const auto all = ElementsAre("logs/2023/x.gz", "logs/2024/y.gz", "logs/z.gz");
  EXPECT_THAT(matches("logs/**"), all);
  EXPECT_THAT(matches("logs/**/"), all);
  ASSERT_EQ(symlink(".", (home / "logs/circle").c_str()), 0);
  EXPECT_THAT(matches("logs/**/z.gz"), ElementsAre("logs/z.gz"));
}

// As many ways as there are choices of seven of these directories, and seven of those between.
TEST_F(path_pattern_test, any_directories_many_times) {
  std::string path = home / "deep";
  for (int i = 0; i < 60; ++i) std::filesystem::create_directories(path += i % 2 == 0 ? "/a" : "/b");
  std::ofstream(path + "/x.gz") << "x";
  const std::string found = path.substr(std::string(home / "").size()) + "/x.gz";
  EXPECT_THAT(matches("deep/**/a/**/b/**/a/**/b/**/a/**/b/**/x.gz"), ElementsAre(found));
  std::string often = "deep/";
  for (int i = 0; i < 200'000; ++i) often += "**/";
  EXPECT_THAT(matches(often + "x.gz"), ElementsAre(found));
}

TEST_F(path_pattern_test, directories_that_are_too_deep) {
  std::string path = home / "deep";
  for (int i = 0; i < 70; ++i) std::filesystem::create_directories(path += "/d");
  std::ofstream(path + "/x.gz") << "x";
  const path_matches found = match_paths(home / "deep/**/x.gz");
  EXPECT_THAT(found.paths, IsEmpty());
  EXPECT_THAT(found.problem, testing::EndsWith("d is more than 64 directories deep"));
}

TEST_F(path_pattern_test, a_file_whose_name_is_spelled_so_is_that_file) {
  EXPECT_FALSE(is_path_pattern(home / "odd/[1].csv"));
  EXPECT_TRUE(is_path_pattern(home / "odd/[12].csv"));
  EXPECT_THAT(matches("odd/[12].csv"), ElementsAre("odd/1.csv"));
  EXPECT_FALSE(is_path_pattern(home / "odd/2.csv"));
}

TEST_F(path_pattern_test, nothing_matches) {
  const path_matches none = match_paths(home / "odd/*.cvs");
  EXPECT_THAT(none.paths, IsEmpty());
  EXPECT_EQ(none.directory, home / "odd");
  EXPECT_THAT(none.names, ElementsAre("1.csv", "[1].csv"));
  EXPECT_THAT(none.problem, IsEmpty());
  EXPECT_THAT(match_paths(home / "nowhere/*").names, IsEmpty());
}

}  // namespace
}  // namespace flowrun::io
