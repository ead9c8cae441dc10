// Folders of parts take the place of what has their name, also on file systems that can't exchange two names.
#include "cluster/output_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "tests/support/temporary_directory.h"

namespace {

bool names_can_be_exchanged = true;

}  // namespace

// In front of the C library's: as NFS answers any flag.
extern "C" int renameat2(int from_directory, const char* from, int to_directory, const char* to,
                         unsigned flags) noexcept {
  if (flags != 0 && !names_can_be_exchanged) {
    errno = EINVAL;
    return -1;
  }
  return static_cast<int>(syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}

namespace flowrun::cluster {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class output_folder_test : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { names_can_be_exchanged = GetParam(); }
  void TearDown() override { names_can_be_exchanged = true; }

  std::string path() { return home / "out.csv"; }
  // With one part, which holds `text`.
  std::unique_ptr<output_folder> made(const std::string& id, const std::string& text) {
    auto out = std::make_unique<output_folder>(path(), id);
    output_part part;
    part.path = output_folder::part_path(path(), id, 0, "a");
    std::ofstream(part.path) << text;
    part.bytes = text.size();
    out->finish("job", {}, {part});
    return out;
  }
  void write(const std::string& id, const std::string& text) {
    const auto folder = made(id, text);
    folder->place();
    folder->settle();
  }
  std::string content() {
    std::ifstream in(path() + "/part-00000.csv");
    std::string out;
    std::getline(in, out);
    return out;
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(home / "")) out.push_back(entry.path().filename().string());
    return out;
  }

  temporary_directory home;
};

TEST_P(output_folder_test, replaces_an_earlier_output) {
  write("00000001", "one");
  EXPECT_EQ(content(), "one");
  write("00000002", "two");
  EXPECT_EQ(content(), "two");
  EXPECT_THAT(names(), ElementsAre("out.csv"));
}

TEST_P(output_folder_test, replaces_a_file) {
  std::ofstream(path()) << "a file";
  write("00000001", "one");
  EXPECT_EQ(content(), "one");
  EXPECT_THAT(names(), ElementsAre("out.csv"));
}

TEST_P(output_folder_test, can_be_taken_back) {
  {
    const auto first = made("00000001", "one");
    first->place();
    EXPECT_TRUE(first->take_back());
  }
  EXPECT_THAT(names(), IsEmpty());
  write("00000001", "one");
  {
    const auto second = made("00000002", "two");
    second->place();
    EXPECT_EQ(content(), "two");
    EXPECT_TRUE(second->take_back());
    EXPECT_EQ(content(), "one");
  }
  EXPECT_THAT(names(), ElementsAre("out.csv"));
}

// A process that is killed between the two steps leaves the earlier output under another name.
TEST_P(output_folder_test, gets_back_what_a_killed_process_has_put_aside) {
  write("00000001", "one");
  fs::rename(path(), home / ".out.csv.flowrun-00000002.old.tmp");
  const auto next = made("00000003", "three");
  EXPECT_EQ(content(), "one");
  next->place();
  next->settle();
  EXPECT_EQ(content(), "three");
  EXPECT_THAT(names(), ElementsAre("out.csv"));
}

INSTANTIATE_TEST_SUITE_P(file_systems, output_folder_test, ::testing::Values(true, false),
                         [](const auto& is) { return std::string(is.param ? "with_an_exchange" : "without_one"); });

}  // namespace
}  // namespace flowrun::cluster
