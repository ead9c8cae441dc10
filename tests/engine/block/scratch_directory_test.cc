// Scratch directories: made privately, refused with a cause.
#include "engine/block/scratch_directory.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {
namespace {

using ::testing::HasSubstr;

TEST(scratch_directory, missing_ones_are_made_for_the_owner_alone) {
  temporary_directory where;
  prepare_scratch_directory(where / "a/b/c/");
  for (const char* name : {"a", "a/b", "a/b/c"}) {
    struct stat made {};
    ASSERT_EQ(stat((where / name).c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 0700u);
  }
}

TEST(scratch_directory, an_existing_one_stays_as_it_is) {
  temporary_directory where;
  ASSERT_EQ(mkdir((where / "a").c_str(), 0750), 0);
  struct stat before {
  }, after{};
  ASSERT_EQ(stat((where / "a").c_str(), &before), 0);
  prepare_scratch_directory(where / "a");
  ASSERT_EQ(stat((where / "a").c_str(), &after), 0);
  EXPECT_EQ(before.st_mode, after.st_mode);
}

TEST(scratch_directory, a_file_in_the_way_is_named) {
  temporary_directory where;
  std::ofstream(where / "file") << "x";
  const error e = error_of([&] { prepare_scratch_directory(where / "file/deeper"); });
  EXPECT_EQ(e.kind(), error_kind::output);
  EXPECT_THAT(e.what(), HasSubstr("can't use the scratch directory " + where / "file/deeper"));
  EXPECT_THAT(e.what(), HasSubstr(where / "file" + std::string(" is not a directory")));
  EXPECT_FALSE(e.hint().empty());
  EXPECT_EQ(error_of([] { prepare_scratch_directory(""); }).kind(), error_kind::output);
}

TEST(scratch_directory, a_trial_says_the_same_and_makes_nothing) {
  temporary_directory where;
  std::ofstream(where / "file") << "x";
  ASSERT_EQ(symlink("nowhere", (where / "link").c_str()), 0);
  for (const char* name : {"file", "file/deeper", "link", "link/"})
    EXPECT_EQ(error_of([&] { try_scratch_directory(where / name); }).what(),
              std::string(error_of([&] { prepare_scratch_directory(where / name); }).what()));
  for (const char* path : {"/proc/x", "/proc/x/y/"}) {
    const error e = error_of([&] { try_scratch_directory(path); });
    EXPECT_EQ(e.kind(), error_kind::output);
    EXPECT_THAT(e.what(), HasSubstr(std::string("can't use the scratch directory ") + path + ": "));
  }
  for (const char* name : {"", "a", "a/b/c/"}) EXPECT_NO_THROW(try_scratch_directory(where / name));
  EXPECT_NO_THROW(try_scratch_directory("a/b"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(where / ""), {}), 2);
}

TEST(scratch_directory, an_unwritable_parent_is_refused) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  temporary_directory where;
  ASSERT_EQ(mkdir((where / "closed").c_str(), 0500), 0);
  EXPECT_THAT(error_of([&] { prepare_scratch_directory(where / "closed/a"); }).what(), HasSubstr("Permission denied"));
  EXPECT_THAT(error_of([&] { prepare_scratch_directory(where / "closed"); }).what(), HasSubstr("Permission denied"));
}

TEST(scratch_directory, links_of_others_are_refused_and_ones_own_are_not) {
  temporary_directory where;
  ASSERT_EQ(mkdir((where / "real").c_str(), 0700), 0);
  ASSERT_EQ(symlink((where / "real").c_str(), (where / "link").c_str()), 0);
  EXPECT_NO_THROW(prepare_scratch_directory(where / "link"));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
  ASSERT_EQ(lchown((where / "link").c_str(), 4711, 4711), 0);
  for (const char* name : {"link", "link/"}) {
    const error e = error_of([&] { prepare_scratch_directory(where / name); });
    EXPECT_EQ(e.kind(), error_kind::output);
    EXPECT_EQ(error_of([&] { try_scratch_directory(where / name); }).what(), std::string(e.what()));
    EXPECT_THAT(e.what(), HasSubstr("symbolic link that belongs to another user (id 4711)"));
  }
}

}  // namespace
}  // namespace flowrun::block
