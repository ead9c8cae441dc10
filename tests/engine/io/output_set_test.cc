// An output of many files: however they come they are whole, they appear together or not at all, and one is open.
#include "engine/io/output_set.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <map>
#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/joint_commit.h"
#include "engine/io/output_set_writer.h"
#include "tests/engine/io/failing_names.h"
#include "tests/engine/io/scarce_commit.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wakers.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;
using testing::Not;

class output_set_test : public testing::Test {
 protected:
  using contents = std::map<std::string, std::string>;

  std::unique_ptr<output_set> set(bool durable = true) {
    return std::make_unique<output_set>(home / "{x}.csv", home.path(), "{x}.csv", durable);
  }
  // A set with these files, written through a writer in pieces that come in any order.
  std::unique_ptr<output_set> written(const contents& files, size_t memory_bytes, unsigned seed = 1) {
    auto out = set();
    output_set_writer writer(*out, memory_bytes);
    std::vector<std::pair<uint32_t, std::string>> rest;
    for (const auto& [name, content] : files) rest.emplace_back(out->add(home / name), content);
    std::mt19937 random(seed);
    blocking_waker waker;
    while (!rest.empty()) {
      const size_t i = random() % rest.size();
      auto& [file, left] = rest[i];
      const std::string piece = left.substr(0, random() % 50 + 1);
      size_t consumed = 0;
      const bool blocked = writer.write(file, std::as_bytes(std::span(piece)), consumed, &waker).is_blocked();
      if (blocked) waker.wait();
      left.erase(0, consumed);
      if (left.empty()) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    }
    while (writer.finish(&waker).is_blocked()) waker.wait();
    return out;
  }

  // What lies below the directory, hidden or not.
  contents found() const {
    contents out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home.path())) {
      const std::string name = entry.path().lexically_relative(home.path()).string();
      out[name] = entry.is_directory() ? "directory" : home.read(name);
    }
    return out;
  }

  static std::vector<std::unique_ptr<joint_output>> alone(std::unique_ptr<output_set> one) {
    std::vector<std::unique_ptr<joint_output>> out;
    out.push_back(std::move(one));
    return out;
  }
  output_state commit(std::unique_ptr<output_set> one) {
    auto all = alone(std::move(one));
    std::vector<output_result> results;
    failure_.clear();
    try {
      commit_together(all, results);
    } catch (const error& problem) {
      failure_ = problem.what();
    }
    return results.front().state;
  }

  static contents many(size_t count) {
    contents out;
    for (size_t i = 0; i < count; ++i)
      out["f" + std::to_string(i)] = std::string(i * 37 % 500 + 1, static_cast<char>('a' + i % 26));
    return out;
  }

  temporary_directory home;
  std::string failure_;
};

TEST_F(output_set_test, files_are_whole_whatever_the_memory) {
  const contents files = many(100);
  for (const size_t memory : {size_t{0}, size_t{10000}, 1 * MiB}) {
    EXPECT_EQ(commit(written(files, memory)), output_state::in_place);
    EXPECT_EQ(failure_, "");
    EXPECT_EQ(found(), files);
  }
}

TEST_F(output_set_test, one_file_is_open_at_a_time) {
  const contents files = many(500);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  int open = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) open += entry.exists() ? 1 : 1;
  const rlimit few{static_cast<rlim_t>(open + 8), before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const output_state state = commit(written(files, 5000));
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(state, output_state::in_place) << failure_;
  EXPECT_EQ(found(), files);
}

TEST_F(output_set_test, what_is_not_committed_leaves_nothing) {
  auto one = set();
  const uint32_t file = one->add(home / "a/b/c");
  one->append(file, reinterpret_cast<const std::byte*>("xy"), 2);
  EXPECT_EQ(home.num_entries(), 1U);
  one.reset();
  EXPECT_EQ(found(), contents());
  // Without files there is nothing to commit, and no directory either.
  auto empty = std::make_unique<output_set>("p", home / "new/dir", "x", true);
  EXPECT_EQ(commit(std::move(empty)), output_state::in_place);
  EXPECT_EQ(found(), contents());
}

TEST_F(output_set_test, directories_are_made_and_other_files_stay) {
  home.write("other", "kept");
  EXPECT_EQ(commit(written({{"c=1/y=1.csv", "one"}, {"c=1/y=2.csv", "two"}, {"c=2/y=1.csv", "three"}}, 0)),
            output_state::in_place);
  EXPECT_EQ(found(), (contents{{"other", "kept"},
                               {"c=1", "directory"},
                               {"c=2", "directory"},
                               {"c=1/y=1.csv", "one"},
                               {"c=1/y=2.csv", "two"},
                               {"c=2/y=1.csv", "three"}}));
}

TEST_F(output_set_test, whichever_call_fails_all_is_as_before) {
  const contents before{{"b", "old b"}, {"c", "old c"}};
  for (const auto& [call, times] : {std::pair(name_call::exchange, 2), std::pair(name_call::sync, 4)})
    for (int nth = 1; nth <= times; ++nth) {
      for (const auto& [name, content] : before) home.write(name, content);
      auto one = written({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"new/d", "4"}}, 0);
      const failing_name_call fault(call, nth, EIO);
      const failing_name_call rename(name_call::rename, 1, EIO);
      EXPECT_EQ(commit(std::move(one)), output_state::as_before) << nth << failure_;
      EXPECT_THAT(failure_, Not(HasSubstr("in place")));
      EXPECT_EQ(found(), before) << nth;
    }
}

// Directories of what was exchanged before memory ran out are opened anew without any.
TEST_F(output_set_test, whenever_memory_runs_out_all_is_as_before_or_in_place) {
  const std::string inner = "d/old file with a long name";
  const contents before{{"d", "directory"}, {inner, "old"}, {"older file", "older"}};
  const contents after{{"d", "directory"}, {inner, "2"},         {"older file", "3"},
                       {"a", "1"},         {"new", "directory"}, {"new/d", "4"}};
  std::filesystem::create_directory(home / "d");
  home.write(inner, "old");
  home.write("older file", "older");
  uint64_t num_more = 0;
  const contents files = {{"a", "1"}, {inner, "2"}, {"older file", "3"}, {"new/d", "4"}};
  while (commit_with(num_more, alone(written(files, 0))) == output_state::as_before) {
    ASSERT_EQ(found(), before) << num_more;
    ++num_more;
  }
  EXPECT_GT(num_more, 50U);
  EXPECT_EQ(found(), after);
}

// Each looks for what processes that are gone have left, and must not take for that what another one makes.
TEST_F(output_set_test, sets_that_begin_together_keep_their_hands_off_each_other) {
  const auto make_many = [this] {
    for (int i = 0; i < 300; ++i) set();
  };
  std::vector<std::future<void>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::async(std::launch::async, make_many));
  for (auto& one : all) EXPECT_NO_THROW(one.get());
  EXPECT_EQ(home.num_entries(), 0U);
}

TEST_F(output_set_test, what_cannot_be_put_back_is_named_and_not_lost) {
  home.write("b", "old b");
  home.write("c", "old c");
  auto one = written({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}}, 0);
  const failing_name_call fault(name_call::exchange, 2, EIO, true);
  const failing_name_call rename(name_call::rename, 1, EIO);
  EXPECT_EQ(commit(std::move(one)), output_state::partly);
  const std::string hidden = ".{x}.csv.flowrun-0.tmp";
  EXPECT_THAT(failure_,
              HasSubstr("in place: " + home / "b (what it replaced is " + home / hidden + "/1); not written: "));
  EXPECT_EQ(home.read("b"), "2");
  EXPECT_EQ(home.read("c"), "old c");
  EXPECT_EQ(home.read(hidden + "/1"), "old b");
}

TEST_F(output_set_test, where_nothing_can_be_exchanged_the_old_file_is_set_aside) {
  home.write("b", "old b");
  home.write("c", "old c");
  {
    const failing_name_call none(name_call::exchange, 1, EINVAL, true);
    EXPECT_EQ(commit(written({{"a", "1"}, {"b", "2"}, {"c", "3"}}, 0)), output_state::in_place) << failure_;
    EXPECT_EQ(found(), (contents{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
  }
  const failing_name_call none(name_call::exchange, 1, EINVAL, true);
  const failing_name_call last(name_call::rename, 3, EIO);
  EXPECT_EQ(commit(written({{"a", "4"}, {"b", "5"}, {"c", "6"}}, 0)), output_state::as_before);
  EXPECT_EQ(found(), (contents{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_F(output_set_test, permissions_of_a_replaced_file_stay) {
  home.write("a", "old");
  chmod((home / "a").c_str(), 0640);
  EXPECT_EQ(commit(written({{"a", "new"}}, 0)), output_state::in_place);
  struct stat info {};
  stat((home / "a").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST_F(output_set_test, what_a_killed_process_left_goes_and_what_a_living_one_has_stays) {
  auto living = set();
  const uint32_t file = living->add(home / "a");
  living->append(file, reinterpret_cast<const std::byte*>("xy"), 2);
  std::filesystem::create_directory(home / ".{x}.csv.flowrun-5.tmp");
  home.write(".{x}.csv.flowrun-5.tmp/0", "left");
  auto other = set();
  EXPECT_EQ(home.num_entries(), 2U);
  EXPECT_FALSE(home.has(".{x}.csv.flowrun-5.tmp"));
  other.reset();
  EXPECT_EQ(commit(std::move(living)), output_state::in_place);
  EXPECT_EQ(found(), (contents{{"a", "xy"}}));
}

TEST_F(output_set_test, what_cannot_be_written_is_said_at_once) {
  auto one = set();
  std::filesystem::create_directory(home / "dir");
  home.write("file", "");
  EXPECT_THAT(error_of([&] { one->add(home / "dir"); }).what(), HasSubstr("it is a directory"));
  EXPECT_THAT(error_of([&] { one->add(home / "file/x"); }).what(), HasSubstr("Not a directory"));
  EXPECT_THAT(error_of([&] { one->add(home / std::string(256, 'x')); }).what(), HasSubstr("256 bytes"));
  EXPECT_THAT(error_of([&] { one->add("/dev/null"); }).what(), HasSubstr("it is no file"));
  EXPECT_THAT(error_of([&] { one->add("/proc/x"); }).what(), HasSubstr("another file system"));
}

TEST_F(output_set_test, two_names_of_one_file_are_refused) {
  EXPECT_EQ(symlink("b", (home / "a").c_str()), 0);
  EXPECT_EQ(commit(written({{"a", "1"}, {"b", "2"}}, 0)), output_state::as_before);
  EXPECT_THAT(failure_, HasSubstr("two outputs are one file"));
}

TEST_F(output_set_test, an_exchanged_directory_is_refused) {
  std::filesystem::create_directories(home / "d");
  auto one = written({{"d/a", "1"}}, 0);
  one->sync();
  one->prepare();
  std::filesystem::rename(home / "d", home / "e");
  std::filesystem::create_directories(home / "d");
  EXPECT_THAT(error_of([&] { one->place(0, false); }).what(), HasSubstr("its directory was exchanged"));
}

TEST_F(output_set_test, tells_its_files) {
  auto one = written(many(1200), 0);
  one->count_rows(0, 3);
  one->count_rows(0, 4);
  const output_files files = *one->files();
  EXPECT_EQ(files.num_files, 1200U);
  ASSERT_EQ(files.files.size(), output_files::most_listed_files);
  EXPECT_EQ(files.files[0].num_rows, 7U);
  EXPECT_EQ(files.files[0].path, home / "f0");
  EXPECT_EQ(files.files[0].num_bytes, 1U);
}

}  // namespace
}  // namespace flowrun::io
