// Which spellings are one file, and which links an output may follow.
#include "engine/io/identify.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/error.h"
#include "engine/io/followed_path.h"
#include "engine/io/output_target.h"
#include "tests/support/byte_files.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class identify_test : public testing::Test {
 protected:
  bool same(const std::string& a, const std::string& b) const {
    return same_file(identify(a, true), identify(b, true));
  }
  void touch(const std::string& name) const { store(home / name, random_bytes(10)); }
  temporary_directory home;
};

TEST_F(identify_test, SpellingsOfAFileThatIsThereOrNot) {
  fs::create_directory(home / "sub");
  fs::create_directory_symlink(home / "sub", home / "other");
  for (const bool exists : {false, true}) {
    if (exists) touch("sub/out");
    EXPECT_TRUE(same(home / "sub/out", home / "sub/./out"));
    EXPECT_TRUE(same(home / "sub/out", home / "other/out"));
    EXPECT_TRUE(same(home / "sub/out", home / "sub/../other/../sub/out"));
    EXPECT_TRUE(same(home / "sub/out", fs::relative(home / "sub/out").string()));
    EXPECT_FALSE(same(home / "sub/out", home / "out"));
    EXPECT_FALSE(same(home / "sub/out", home / "sub/out.index"));
  }
}

TEST_F(identify_test, PathsFromTheRootOn) {
  fs::create_directory(home / "sub");
  fs::create_directory_symlink(home / "sub", home / "other");
  const std::string root = fs::canonical(home.path()).string();
  EXPECT_EQ(resolved_path(home / "other/new/out"), root + "/sub/new/out");
  EXPECT_EQ(resolved_path(home / "sub/.././new/../out"), root + "/out");
  EXPECT_EQ(resolved_path("new/{x}"), fs::current_path().string() + "/new/{x}");
  EXPECT_EQ(resolved_path("."), fs::current_path().string());
}

TEST_F(identify_test, DirectoriesThatWillBeMade) {
  EXPECT_TRUE(same(home / "new/deep/out", home / "new/other/../deep/out"));
  EXPECT_TRUE(same(home / "new/../out", home / "out"));
  EXPECT_FALSE(same(home / "new/out", home / "deep/out"));
}

TEST_F(identify_test, DirectoriesThemselves) {
  fs::create_directory(home / "sub");
  EXPECT_TRUE(same(home / "sub/..", home.path()));
  EXPECT_TRUE(same(home / "sub/../sub", home / "sub"));
  EXPECT_TRUE(same("..", fs::absolute("..").string()));
  EXPECT_FALSE(same("..", "../.."));
  EXPECT_TRUE(same(home / "new/..", home / "new/../."));
  EXPECT_FALSE(same(home / "new/../..", home / "new/.."));
}

TEST_F(identify_test, LinksNameWhatTheyLeadTo) {
  touch("real");
  fs::create_symlink("real", home / "link");
  fs::create_symlink("link", home / "link2");
  fs::create_symlink("nothing", home / "dangling");
  EXPECT_TRUE(same(home / "link2", home / "real"));
  EXPECT_TRUE(same(home / "dangling", home / "nothing"));
  EXPECT_FALSE(same(home / "dangling", home / "real"));
  fs::create_symlink("circle", home / "circle");
  EXPECT_TRUE(same(home / "circle", home / "circle"));
}

// Each name gets a file of its own, so nothing is lost.
TEST_F(identify_test, HardLinksAreSeveralOutputs) {
  touch("one");
  fs::create_hard_link(home / "one", home / "two");
  EXPECT_FALSE(same(home / "one", home / "two"));
}

TEST_F(identify_test, PipesAndDescriptorsAreWhatIsBehindThem) {
  ASSERT_EQ(mkfifo((home / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(link((home / "pipe").c_str(), (home / "pipe2").c_str()), 0);
  EXPECT_TRUE(same(home / "pipe", home / "pipe2"));
  EXPECT_TRUE(identify(home / "pipe", false).read_once);
  EXPECT_TRUE(same("-", "/dev/stdout"));
  EXPECT_TRUE(same("-", "/dev/fd/1"));
  fs::create_symlink("/dev/stdout", home / "link");
  EXPECT_TRUE(same("-", home / "link"));
  EXPECT_TRUE(same_file(identify("-", false), identify("/dev/stdin", false)));
  touch("behind");
  const int descriptor = open((home / "behind").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(descriptor, 0);
  EXPECT_TRUE(same("/dev/fd/" + std::to_string(descriptor), home / "behind"));
  close(descriptor);
}

TEST_F(identify_test, TheNullDeviceTakesEverything) { EXPECT_FALSE(same("/dev/null", "/dev/null")); }

TEST(FollowedPath, LinksInSharedDirectories) {
  constexpr mode_t sticky = 01777, ordinary = 0755, open_to_all = 0777;
  EXPECT_TRUE(may_follow(1000, 1000, 0, sticky));   // our own link
  EXPECT_TRUE(may_follow(1000, 0, 0, sticky));      // the directory's owner's
  EXPECT_FALSE(may_follow(1000, 1001, 0, sticky));  // another user's
  EXPECT_FALSE(may_follow(0, 1001, 0, sticky));     // also for root
  EXPECT_TRUE(may_follow(1000, 1001, 0, ordinary));
  EXPECT_TRUE(may_follow(1000, 1001, 0, open_to_all));
}

TEST_F(identify_test, AnOutputThroughAnotherUsersLinkIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a link of another user";
  fs::create_directory(home / "shared");
  ASSERT_EQ(chmod((home / "shared").c_str(), 01777), 0);
  touch("victim");
  fs::create_symlink(home / "victim", home / "shared/out");
  ASSERT_EQ(lchown((home / "shared/out").c_str(), 12345, 12345), 0);
  try {
    output_target target(home / "shared/out", false);
    FAIL() << "the link was followed";
  } catch (const error& refused) {
    EXPECT_EQ(refused.kind(), error_kind::output);
    EXPECT_THAT(refused.what(), HasSubstr("belongs to another user"));
    EXPECT_THAT(refused.hint(), HasSubstr(home / "victim"));
  }
  ASSERT_EQ(lchown((home / "shared/out").c_str(), 0, 0), 0);
  output_target followed(home / "shared/out", false);
}

}  // namespace
}  // namespace flowrun::io
