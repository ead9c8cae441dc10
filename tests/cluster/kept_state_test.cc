// What a stopped run on a cluster keeps: messages with checksums, the directory of its command, parts of outputs.
#include "cluster/kept_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cluster/cluster.pb.h"
#include "cluster/damaged_file.h"
#include "cluster/output_manifest.h"
#include "cluster/run_directory.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

Done done_with(const std::string& part) {
  Done done;
  Done::Output& out = *done.add_outputs();
  struct stat found {};
  EXPECT_EQ(::stat(part.c_str(), &found), 0);
  out.set_path(part);
  out.set_bytes(static_cast<uint64_t>(found.st_size));
  out.set_modified_ns(found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec);
  return done;
}

TEST(message_file, is_damaged_whatever_byte_changes) {
  const temporary_directory home;
  const std::string path = home / "done-1-2";
  Plan message;
  message.set_id("12345678");
  write_message(path, message);
  const std::string whole = content(path);
  Plan read;
  ASSERT_TRUE(read_message(path, read));
  EXPECT_EQ(read.id(), "12345678");
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 4);
    home.write("done-1-2", other);
    EXPECT_THROW(read_message(path, read), damaged_file) << i;
    home.write("done-1-2", whole.substr(0, i));
    EXPECT_THROW(read_message(path, read), damaged_file) << i;
  }
  home.write("done-1-2", whole);
  EXPECT_TRUE(read_message(path, read));
  home.write("done-1-3", whole);
  EXPECT_THROW(read_message(home / "done-1-3", read), damaged_file);
  EXPECT_FALSE(read_message(home / "done-1-4", read));
}

TEST(kept_state, is_looked_at_before_it_is_gone_on_with) {
  const temporary_directory home;
  const shared_directory directory(home.path());
  EXPECT_THAT(faults_of_kept(directory), IsEmpty());
  const std::string part = home.write("part", "rows");
  std::filesystem::last_write_time(part, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  write_message(directory.done(0, 0), done_with(part));
  EXPECT_THAT(faults_of_kept(directory), ElementsAre(EndsWith("/plan is not there")));
  Plan plan;
  plan.set_id("1");
  write_message(directory.plan(), plan);
  write_message(directory.stage(0), StageTasks());
  EXPECT_THAT(faults_of_kept(directory), IsEmpty());
  home.write("part", "r0ws");
  EXPECT_THAT(faults_of_kept(directory), ElementsAre(EndsWith("/part has changed")));
  home.write("part", "row");
  EXPECT_THAT(faults_of_kept(directory), ElementsAre(EndsWith("/part has changed")));
  std::filesystem::remove(part);
  EXPECT_THAT(faults_of_kept(directory), ElementsAre(EndsWith("/part: No such file or directory")));
  home.write("stage-0", "");
  home.write("done-0-0", "");
  EXPECT_THAT(faults_of_kept(directory),
              ElementsAre(EndsWith("/stage-0 is damaged"), EndsWith("/done-0-0 is damaged")));
  EXPECT_THAT(faults_of_kept(shared_directory(home / "gone")), ElementsAre(EndsWith("/gone is not there")));
}

TEST(kept_state, knows_parts_that_the_driver_has_renamed) {
  const temporary_directory home;
  std::filesystem::create_directories(home / "run");
  const shared_directory directory(home / "run");
  Plan plan;
  plan.set_id("00ab");
  write_message(directory.plan(), plan);
  std::filesystem::create_directory(home / ".o.csv.flowrun-00ab.tmp");
  const std::string part = home.write(".o.csv.flowrun-00ab.tmp/part-00003.1-3-XYZabc.csv", "rows");
  write_message(directory.done(1, 3), done_with(part));
  EXPECT_THAT(faults_of_kept(directory), IsEmpty());
  std::filesystem::rename(part, home / ".o.csv.flowrun-00ab.tmp/part-00003.csv");
  EXPECT_THAT(faults_of_kept(directory), IsEmpty());
  home.write(".o.csv.flowrun-00ab.tmp/manifest.json", "{}");
  std::filesystem::rename(home / ".o.csv.flowrun-00ab.tmp", home / "o.csv");
  EXPECT_THAT(faults_of_kept(directory), ElementsAre(HasSubstr("part-00003.1-3-XYZabc.csv: No such file")));
  write(output_manifest{"00ab", "job", {}, {}}, home / "o.csv");
  EXPECT_THAT(faults_of_kept(directory), IsEmpty());
  write(output_manifest{"00ac", "job", {}, {}}, home / "o.csv");
  EXPECT_EQ(faults_of_kept(directory).size(), 1U);
}

TEST(run_directory, begins_in_another_folder_each_time_it_starts_over) {
  const temporary_directory home;
  const run_facts facts = {{"the job", "a"}};
  std::string first;
  {
    run_directory one(home.path(), "0", facts);
    EXPECT_THAT(one.reasons_to_start_over(), IsEmpty());
    first = one.path();
    one.keep();
  }
  {
    run_directory same(home.path(), "0", facts);
    EXPECT_EQ(same.path(), first);
    const std::string part = home.write("part", "rows");
    write_message(shared_directory(first).done(0, 0), done_with(part));
    same.keep();
  }
  std::string second;
  {
    run_directory other(home.path(), "0", facts);
    EXPECT_THAT(other.reasons_to_start_over(), ElementsAre(EndsWith("/plan is not there")));
    second = other.path();
    // A worker that is still at work for the driver before it finds nothing to write into.
    EXPECT_EQ(error_of([&] { write_message(first + "/done-0-0", Done()); }).kind(), error_kind::output);
    other.keep();
  }
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::filesystem::exists(first));
  run_directory changed(home.path(), "0", {{"the job", "b"}});
  EXPECT_THAT(changed.reasons_to_start_over(), ElementsAre("the job has changed"));
  EXPECT_NE(changed.path(), second);
}

TEST(run_directory, of_another_user_is_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const temporary_directory home;
  const std::string theirs = home / "flowrun-cluster-resume-0";
  std::filesystem::create_directory(theirs);
  ASSERT_EQ(::chown(theirs.c_str(), 54321, 54321), 0);
  const error refused = error_of([&] { run_directory(home.path(), "0", {}); });
  EXPECT_EQ(refused.kind(), error_kind::output);
  EXPECT_THAT(refused.what(), HasSubstr("flowrun-cluster-resume-0: it belongs to another user"));
  EXPECT_TRUE(std::filesystem::is_empty(theirs));
}

TEST(run_directory, is_known_by_its_name) {
  const temporary_directory home;
  for (const char* name :
       {"flowrun-cluster-mine", "flowrun-cluster-resume-thesis", "flowrun-cluster-", "flowrun-cluster-a1B2-3",
        "flowrun-cluster-resume-", "flowrun-cluster-a1B2c3", "flowrun-cluster-resume-0123456789abcdef"})
    std::filesystem::create_directory(home / name);
  std::vector<std::string> found;
  for (const found_run& run : find_runs(home.path())) found.push_back(run.path);
  EXPECT_THAT(found,
              ElementsAre(EndsWith("/flowrun-cluster-a1B2c3"), EndsWith("/flowrun-cluster-resume-0123456789abcdef")));
}

TEST(run_directory, of_a_scratch_directory_that_nobody_else_sees) {
  const temporary_directory home;
  { const run_directory one(home / "new/scratch"); }
  for (const char* name : {"new", "new/scratch"}) {
    struct stat made {};
    ASSERT_EQ(::stat((home / name).c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 07777, 0700U) << name;
  }
  home.write("file", "");
  EXPECT_THAT(error_of([&] { run_directory(home / "file/scratch"); }).what(), HasSubstr("file is not a directory"));
}

TEST(run_directory, that_is_removed_takes_what_its_tasks_left_beside_outputs) {
  const temporary_directory home;
  const std::string hidden = home / ".out.flowrun-00ab.tmp";
  std::filesystem::create_directory(hidden);
  const std::string part = home.write(".out.flowrun-00ab.tmp/part-00000", "rows");
  {
    run_directory one(home.path(), "0", {});
    const shared_directory directory(one.path());
    Plan plan;
    plan.set_id("00ab");
    write_message(directory.plan(), plan);
    write_message(directory.done(0, 0), done_with(part));
    one.keep();
  }
  const std::vector<found_run> found = find_runs(home.path());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(remove_if_dead(found.front()));
  EXPECT_TRUE(std::filesystem::is_empty(home.path()));
}

}  // namespace
}  // namespace flowrun::cluster
