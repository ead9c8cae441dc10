// Directories of jobs: one process at a time, private, found and removed only when nobody works there.
#include "engine/resume/resume_directory.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::resume {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& scratch) {
  return error_of([&] { const resume_directory again(scratch, 7); }).what();
}

TEST(resume_directory, is_private_and_has_one_owner) {
  const temporary_directory where;
  resume_directory one(where.path(), 7);
  struct stat found {};
  ASSERT_EQ(::stat(one.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
  EXPECT_THAT(refusal(where.path()), HasSubstr("another run of this job works there"));
  const resume_directory other(where.path(), 8);
  EXPECT_NE(other.path(), one.path());
}

TEST(resume_directory, is_refused_where_a_link_or_a_file_has_its_name) {
  const temporary_directory where;
  const std::string name = resume_directory(where.path(), 7).path();
  std::filesystem::remove(name);
  std::filesystem::create_directory(where.path() + "/elsewhere");
  std::filesystem::create_directory_symlink(where.path() + "/elsewhere", name);
  EXPECT_THAT(refusal(where.path()), HasSubstr("can't use " + name));
  std::filesystem::remove(name);
  where.write(std::filesystem::path(name).filename(), "");
  EXPECT_THAT(refusal(where.path()), HasSubstr("can't use " + name));
}

TEST(resume_directory, is_removed_only_where_nobody_works) {
  const temporary_directory where;
  EXPECT_TRUE(find_resume_directories(where.path()).empty());
  EXPECT_TRUE(find_resume_directories("/nowhere").empty());
  std::optional<resume_directory> one(std::in_place, where.path(), 7);
  const std::string folder = std::filesystem::path(one->path()).filename();
  EXPECT_GT(find_resume_directories(where.path())[0].changed_s, 1'700'000'000) << "also where nothing is in it";
  where.write(folder + "/blocks", std::string(10'000, 'x'));
  where.write(folder + "/manifest", "");
  std::vector<found_directory> found = find_resume_directories(where.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_at_work);
  EXPECT_GE(found[0].num_bytes, 10'000u);
  EXPECT_EQ(found[0].manifest, one->manifest());
  std::string cause;
  EXPECT_FALSE(remove_if_dead(found[0], cause));
  one.reset();
  EXPECT_FALSE(find_resume_directories(where.path())[0].is_at_work);
  EXPECT_TRUE(remove_if_dead(found[0], cause));
  EXPECT_TRUE(find_resume_directories(where.path()).empty());
}

TEST(resume_directory, of_others_are_left_alone) {
  const temporary_directory where;
  std::filesystem::create_directory(where.path() + "/flowrun-resume-notes");
  EXPECT_TRUE(find_resume_directories(where.path()).empty());
  const std::string name = resume_directory(where.path(), 7).path();
  where.write(std::string(std::filesystem::path(name).filename()) + "/thesis", "x");
  const std::vector<found_directory> found = find_resume_directories(where.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].has_other_files);
  std::string cause;
  EXPECT_FALSE(remove_if_dead(found[0], cause));
  EXPECT_NE(cause, "");
}

TEST(resume_directory, of_a_manifest_goes_where_nobody_works) {
  const temporary_directory where;
  std::string path;
  {
    resume_directory one(where.path(), 7);
    path = one.path();
    one.begin(0x123);
    remove_blocks_of(0x123, where.path(), 7);
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  remove_blocks_of(0x124, where.path(), 7);
  remove_blocks_of(0x123, where.path(), 8);
  EXPECT_TRUE(std::filesystem::exists(path));
  remove_blocks_of(0x123, where.path(), 7);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(resume_directory, blocks_belong_to_a_manifest) {
  const temporary_directory where;
  resume_directory one(where.path(), 7);
  EXPECT_EQ(owner_in(where.path(), 7), 0u);
  one.begin(0x123);
  EXPECT_EQ(owner_in(where.path(), 7), 0x123u);
  where.write(std::string(std::filesystem::path(one.path()).filename()) + "/blocks", "x");
  one.begin(0x124);
  EXPECT_FALSE(std::filesystem::exists(one.blocks()));
  EXPECT_EQ(owner_in(where.path(), 7), 0x124u);
}

}  // namespace
}  // namespace flowrun::resume
