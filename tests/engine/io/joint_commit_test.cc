// Outputs get their names together: whichever call fails, what is in place is said, and what can be is put back.
#include "engine/io/joint_commit.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "engine/base/error.h"
#include "engine/io/output_file.h"
#include "engine/io/output_target.h"
#include "engine/io/request.h"
#include "tests/engine/io/failing_names.h"
#include "tests/engine/io/scarce_commit.h"
#include "tests/support/byte_files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wakers.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;
using testing::Not;
using outputs = std::vector<std::unique_ptr<joint_output>>;
using states = std::vector<output_state>;

constexpr output_state as_before = output_state::as_before;
constexpr output_state in_place = output_state::in_place;

class joint_commit_test : public testing::Test {
 protected:
  // New names are in "new…", the others replace content of their own.
  outputs finished(std::initializer_list<const char*> names) {
    outputs out;
    for (const std::string name : names) {
      if (!name.starts_with("new")) {
        before_[name] = random_bytes(500, static_cast<unsigned>(before_.size() + 100));
        store(home / name.c_str(), before_[name]);
      }
      after_[name] = random_bytes(700, static_cast<unsigned>(after_.size() + 1));
      auto file = std::make_unique<output_file>(*io_, home / name.c_str(), output_file_options{});
      size_t consumed = 0;
      EXPECT_TRUE(file->write(after_[name], consumed, nullptr).is_ready());
      blocking_waker waker;
      while (file->finish(&waker).is_blocked()) waker.wait();
      out.push_back(std::move(file));
    }
    return out;
  }

  states commit(outputs& all) {
    std::vector<output_result> results;
    try {
      commit_together(all, results);
      failure_.clear();
    } catch (const error& problem) {
      failure_ = problem.what();
    }
    states out;
    for (const output_result& r : results) out.push_back(r.state);
    return out;
  }

  void expect_all_as_before() {
    for (const auto& [name, content] : after_) {
      if (before_.contains(name))
        EXPECT_EQ(load(home / name.c_str()), before_[name]) << name;
      else
        EXPECT_FALSE(std::filesystem::exists(home / name.c_str())) << name;
    }
    EXPECT_EQ(home.num_entries(), before_.size());
  }
  void expect_new(const char* name) { EXPECT_EQ(load(home / name), after_[name]) << name; }

  temporary_directory home;
  std::unique_ptr<backend> io_ = make_backend(backend_kind::threads, 2);
  std::map<std::string, std::vector<std::byte>> before_;
  std::map<std::string, std::vector<std::byte>> after_;
  std::string failure_;
};

TEST_F(joint_commit_test, new_and_replaced_outputs_appear) {
  outputs all = finished({"new1", "old1", "new2", "old2"});
  EXPECT_EQ(commit(all), states(4, in_place));
  EXPECT_EQ(failure_, "");
  for (const char* name : {"new1", "old1", "new2", "old2"}) expect_new(name);
  EXPECT_EQ(home.num_entries(), 4U);
}

// What a signal's handler asks before it ends the process.
class watched_output final : public joint_output {
 public:
  watched_output(std::string& seen, bool fails) : seen_(seen), fails_(fails) {}
  const std::string& path() const override { return path_; }
  bool is_stream() const override { return false; }
  bool is_durable() const override { return true; }
  size_t num_names() const override { return 2; }
  std::string path_of(size_t name) const override { return path_ + std::to_string(name); }
  void sync() override { note("sync"); }
  void prepare() override { note("prepare"); }
  void place(size_t name, bool) override {
    note("place");
    if (fails_ && name == 1) throw error(error_kind::output, "no room for a name", "");
  }
  bool undo(size_t) noexcept override {
    note("undo");
    return true;
  }
  std::string kept_old(size_t) const override { return {}; }
  void settle() noexcept override { note("settle"); }
  void sync_directories(std::set<std::string>&) override { note("directories"); }

 private:
  void note(const char* step) { seen_ += std::string(step) + (names_are_changing() ? "! " : " "); }
  const std::string path_ = "/nonexistent/watched";
  std::string& seen_;
  const bool fails_;
};

TEST_F(joint_commit_test, says_while_names_change) {
  for (const bool fails : {false, true}) {
    std::string seen;
    outputs all;
    all.push_back(std::make_unique<watched_output>(seen, fails));
    commit(all);
    EXPECT_EQ(seen, fails ? "sync prepare place! place! undo! " : "sync prepare place! place! settle! directories ");
    EXPECT_FALSE(names_are_changing());
  }
}

TEST_F(joint_commit_test, a_failing_sync_changes_nothing) {
  for (int nth = 1; nth <= 3; ++nth) {
    outputs all = finished({"new1", "old1", "new2"});
    const failing_name_call fault(name_call::sync, nth, EIO);
    EXPECT_EQ(commit(all), states(3, as_before));
    EXPECT_THAT(failure_, HasSubstr("fsync"));
    all.clear();
    expect_all_as_before();
  }
}

TEST_F(joint_commit_test, whichever_link_fails_all_is_as_before) {
  constexpr int num_links = 4;
  for (int nth = 1; nth <= num_links; ++nth) {
    outputs all = finished({"old1", "new1", "old2", "new2"});
    const failing_name_call fault(name_call::link, nth, ENOSPC);
    EXPECT_EQ(commit(all), states(4, as_before)) << nth;
    EXPECT_THAT(failure_, HasSubstr("No space left")) << nth;
    EXPECT_THAT(failure_, Not(HasSubstr("in place"))) << nth;
    all.clear();
    expect_all_as_before();
  }
  outputs all = finished({"old1", "new1", "old2", "new2"});
  const failing_name_call none(name_call::link, num_links + 1, ENOSPC);
  EXPECT_EQ(commit(all), states(4, in_place));
}

TEST_F(joint_commit_test, a_failing_exchange_or_rename_puts_the_others_back) {
  for (int nth = 1; nth <= 2; ++nth) {
    outputs all = finished({"new1", "old1", "old2", "old3"});
    const failing_name_call exchange(name_call::exchange, nth, EIO);
    const failing_name_call rename(name_call::rename, 1, EIO);
    EXPECT_EQ(commit(all), states(4, as_before)) << nth;
    all.clear();
    expect_all_as_before();
  }
  outputs all = finished({"new1", "old1", "old2"});
  const failing_name_call last(name_call::rename, 1, EIO);  // the last one is not exchanged
  EXPECT_EQ(commit(all), states(3, as_before));
  EXPECT_EQ(last.num_calls(), 1);
  all.clear();
  expect_all_as_before();
}

// What was exchanged before memory ran out gets its name back without any.
TEST_F(joint_commit_test, whenever_memory_runs_out_all_is_as_before_or_in_place) {
  const auto names = {"new file with a long name", "old file with a long name", "older file with a long name"};
  uint64_t num_more = 0;
  while (commit_with(num_more, finished(names)) == as_before) {
    expect_all_as_before();
    ++num_more;
  }
  EXPECT_GT(num_more, 50U);
  // Only the names are not made durable yet.
  for (const char* name : names) expect_new(name);
  EXPECT_EQ(home.num_entries(), 3U);
}

TEST_F(joint_commit_test, where_nothing_can_be_exchanged_the_old_file_is_set_aside) {
  const failing_name_call exchange(name_call::exchange, 1, EINVAL, true);
  {
    outputs all = finished({"old1", "old2"});
    EXPECT_EQ(commit(all), states(2, in_place));
    all.clear();
    expect_new("old1");
    expect_new("old2");
    EXPECT_EQ(home.num_entries(), 2U);
  }
  outputs all = finished({"old1", "old2", "new1"});
  const failing_name_call rename(name_call::rename, 2, EIO);
  EXPECT_EQ(commit(all), states(3, as_before));
  all.clear();
  expect_all_as_before();
}

TEST_F(joint_commit_test, what_cannot_be_put_back_is_named) {
  outputs all = finished({"old1", "old2", "new1"});
  const failing_name_call exchange(name_call::exchange, 2, EIO, true);
  const failing_name_call rename(name_call::rename, 1, EROFS);
  EXPECT_EQ(commit(all), (states{output_state::not_durable, as_before, as_before}));
  EXPECT_THAT(failure_, HasSubstr("in place: " + home / "old1 (what it replaced is " + home.path()));
  EXPECT_THAT(failure_, HasSubstr("not written: " + home / "old2" + ", " + home / "new1"));
  all.clear();
  expect_new("old1");
  EXPECT_EQ(load(home / "old2"), before_["old2"]);
  EXPECT_FALSE(std::filesystem::exists(home / "new1"));
}

TEST_F(joint_commit_test, a_failing_sync_of_the_directory_is_an_error_with_all_in_place) {
  outputs all = finished({"old1", "new1"});
  const failing_name_call fault(name_call::sync, 3, EIO);
  EXPECT_EQ(commit(all), states(2, output_state::not_durable));
  EXPECT_THAT(failure_, HasSubstr("all outputs are in place"));
  expect_new("old1");
  expect_new("new1");
  EXPECT_EQ(home.num_entries(), 2U);
}

TEST_F(joint_commit_test, directories_are_synced_once_and_new_ones_with_their_parents) {
  outputs all = finished({"new1", "newdir/a/x", "newdir/a/y"});
  const failing_name_call count(name_call::sync, 100, EIO);
  EXPECT_EQ(commit(all), states(3, in_place));
  EXPECT_EQ(count.num_calls(), 3 + 3);  // contents; home, newdir, newdir/a
}

TEST_F(joint_commit_test, a_target_that_became_a_directory_leaves_the_others_alone) {
  outputs all = finished({"old1", "new1", "new2"});
  std::filesystem::create_directory(home / "new2");
  EXPECT_EQ(commit(all), states(3, as_before));
  EXPECT_THAT(failure_, HasSubstr("Is a directory"));
  EXPECT_EQ(load(home / "old1"), before_["old1"]);
  EXPECT_FALSE(std::filesystem::exists(home / "new1"));
}

TEST_F(joint_commit_test, two_names_that_became_one_are_refused) {
  std::filesystem::create_directory(home / "a");
  std::filesystem::create_directory(home / "b");
  outputs all = finished({"new1"});
  outputs more = finished({"newer"});
  all.push_back(std::move(more.front()));
  std::filesystem::create_symlink("new1", home / "newer");
  EXPECT_EQ(commit(all), states(2, as_before));
  EXPECT_THAT(failure_, HasSubstr("two outputs are one file"));
}

TEST_F(joint_commit_test, an_exchanged_directory_is_refused) {
  std::filesystem::create_directory(home / "mine");
  std::filesystem::create_directory(home / "theirs");
  outputs all = finished({"new1", "mine/out"});
  std::filesystem::rename(home / "mine", home / "gone");
  std::filesystem::create_directory_symlink("theirs", home / "mine");
  EXPECT_EQ(commit(all), states(2, as_before));
  EXPECT_THAT(failure_, HasSubstr("is not the one that it was when the job began"));
  all.clear();
  EXPECT_TRUE(std::filesystem::is_empty(home / "theirs"));
  EXPECT_FALSE(std::filesystem::exists(home / "new1"));
}

// Somebody may have made the name a hard link to a program of its owner's.
TEST_F(joint_commit_test, new_content_gets_no_privileges_and_other_names_keep_theirs) {
  store(home / "program", random_bytes(10));
  ASSERT_EQ(chmod((home / "program").c_str(), 06755), 0);
  std::filesystem::create_hard_link(home / "program", home / "new1");
  outputs all = finished({"new1"});
  EXPECT_EQ(commit(all), states(1, in_place));
  struct stat made {};
  ASSERT_EQ(stat((home / "new1").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0755U);
  EXPECT_EQ(load(home / "program"), random_bytes(10));
  struct stat program {};
  ASSERT_EQ(stat((home / "program").c_str(), &program), 0);
  EXPECT_EQ(program.st_mode & 07777, 06755U);
}

TEST_F(joint_commit_test, what_another_user_put_into_a_shared_directory_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  std::filesystem::create_directory(home / "shared");
  ASSERT_EQ(chmod((home / "shared").c_str(), 01777), 0);
  ASSERT_EQ(mkfifo((home / "shared/pipe").c_str(), 0666), 0);
  store(home / "shared/file", random_bytes(1));
  for (const char* name : {"shared/pipe", "shared/file"}) {
    ASSERT_EQ(chown((home / name).c_str(), 4711, 4711), 0);
    const error failure = error_of([&] { output_file out(*io_, home / name); });
    EXPECT_EQ(failure.kind(), error_kind::output);
    EXPECT_THAT(failure.what(), HasSubstr("of another user (id 4711)"));
  }
  // One that came while the job ran.
  outputs all = finished({"new1", "shared/out"});
  before_.erase("shared/out");
  ASSERT_EQ(chown((home / "shared/out").c_str(), 4711, 4711), 0);
  EXPECT_EQ(commit(all), states(2, as_before));
  EXPECT_THAT(failure_, HasSubstr("of another user (id 4711)"));
}

}  // namespace
}  // namespace flowrun::io
