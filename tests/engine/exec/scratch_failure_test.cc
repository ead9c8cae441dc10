// Scratch disks that fail under a job: it carries on where a block is still in memory and another disk has room, with
// the same result and a warning; else it ends with disk, offset and cause, and leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "engine/base/error.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/file.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using effect = io::injected_fault::effect;

constexpr uint64_t all_of_them = UINT64_MAX;

// Two sorts, and a queue between branches that meet again.
constexpr const char* scratch_job = R"yaml(
  drawn:  {op: generate, with: {rows: 20000, columns: {k: "u32(rand(1, i) % 500)", v: "u32(rand(2, i))", w: i}}}
  sorted: {op: sort, in: drawn, with: {by: [k, v, w]}}
  counts: {op: group, in: sorted, with: {by: [k], let: {n: "count()"}}}
  joined: {op: join, in: {left: sorted, right: counts}, with: {by: [k]}}
  back:   {op: sort, in: joined, with: {by: [w]}}
  write:  {op: file.write_rows, in: back, with: {path: @OUT/back.bin}}
)yaml";

// Calls `act` with each request before it is carried out.
class watched_backend final : public io::backend {
 public:
  using action = std::function<void(io::request&)>;
  watched_backend(std::unique_ptr<io::backend> inner, action act) : inner_(std::move(inner)), act_(std::move(act)) {}
  using backend::submit;
  void submit(std::span<io::request* const> requests) noexcept override {
    for (io::request* one : requests) {
      {
        std::lock_guard lock(mutex_);
        act_(*one);
      }
      inner_->submit(*one);
    }
  }
  std::string_view name() const override { return inner_->name(); }

 private:
  std::unique_ptr<io::backend> inner_;
  std::mutex mutex_;  // held during act_
  action act_;
};

struct outcome {
  std::unique_ptr<error> problem;
  std::vector<std::string> warnings;
  std::map<std::string, std::string> outputs;
  std::vector<std::string> left_in_scratch;
  std::string what() const { return problem == nullptr ? "" : problem->what(); }
};

outcome run(bool plain, const decltype(job_place::wrap_backend)& wrap,
            const std::function<void(job_rig&)>& before = {}) {
  job_place place;
  place.plain = plain;
  place.threads = 3;
  place.force_spill = true;
  place.batch_bytes = 4 * KiB;
  place.wrap_backend = wrap;
  job_rig rig(scratch_job, place);
  std::vector<std::string> directories;
  for (const block::disk_usage& disk : rig.job().disks()) directories.push_back(disk.path);
  outcome out;
  if (before) before(rig);
  out.problem = rig.run();
  out.warnings = rig.job().warnings();
  rig.destroy();
  out.outputs = rig.outputs();
  for (const std::string& directory : directories) {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(directory, gone))
      out.left_in_scratch.push_back(entry.path().string());
  }
  return out;
}

outcome run_with(bool plain, const std::vector<io::injected_fault>& faults) {
  return run(plain, [&](std::unique_ptr<io::backend> inner) {
    return std::make_unique<io::faulty_backend>(std::move(inner), faults);
  });
}

const std::map<std::string, std::string>& undisturbed() {
  static const std::map<std::string, std::string> outputs = run(true, {}).outputs;
  return outputs;
}

io::injected_fault failing(io::direction way, uint64_t nth, int cause, const std::string& path) {
  return {way, nth, all_of_them, effect::fail, static_cast<uint64_t>(cause), path};
}

TEST(scratch_failure, a_disk_that_fails_writes_is_left_for_the_others) {
  ASSERT_EQ(undisturbed().size(), 1U);
  for (const int cause : {EIO, ENODEV, EROFS})
    for (const bool plain : {false, true})
      for (const uint64_t nth : {1, 2, 7, 30}) {
        const outcome end = run_with(plain, {failing(io::direction::write, nth, cause, "/scratch1")});
        ASSERT_EQ(end.problem, nullptr) << end.what();
        EXPECT_TRUE(end.outputs == undisturbed());
        EXPECT_THAT(end.warnings,
                    ElementsAre(AllOf(HasSubstr("can't write"), HasSubstr("/scratch1"), HasSubstr("at offset "),
                                      HasSubstr(errno_text(cause)), HasSubstr("the others take over"))));
        EXPECT_THAT(end.left_in_scratch, IsEmpty());
      }
}

TEST(scratch_failure, a_disk_that_turns_out_to_be_full_is_left_for_the_others) {
  for (const int cause : {ENOSPC, EDQUOT, EFBIG})
    for (const bool plain : {false, true}) {
      const outcome end = run_with(plain, {failing(io::direction::write, 5, cause, "/scratch0")});
      ASSERT_EQ(end.problem, nullptr) << end.what();
      EXPECT_TRUE(end.outputs == undisturbed());
      EXPECT_THAT(end.warnings, ElementsAre(AllOf(HasSubstr("/scratch0 is full"), HasSubstr(errno_text(cause)))));
    }
}

TEST(scratch_failure, a_short_write_is_done_again_elsewhere) {
  for (const bool plain : {false, true}) {
    const outcome end = run_with(plain, {{io::direction::write, 3, 1, effect::shorten, 1000, "/scratch0"}});
    ASSERT_EQ(end.problem, nullptr) << end.what();
    EXPECT_TRUE(end.outputs == undisturbed());
    EXPECT_THAT(end.warnings, ElementsAre(HasSubstr("only 1000 bytes were written")));
  }
}

TEST(scratch_failure, when_all_disks_fail_writes_the_job_does) {
  for (const bool plain : {false, true})
    for (const uint64_t nth : {1, 9}) {
      const outcome end = run_with(plain, {failing(io::direction::write, nth, EIO, "/scratch")});
      ASSERT_NE(end.problem, nullptr);
      EXPECT_EQ(end.problem->exit_code(), 74);
      EXPECT_THAT(end.what(), AllOf(HasSubstr("can't write"), HasSubstr("/scratch"), HasSubstr("at offset "),
                                    HasSubstr("Input/output error")));
      EXPECT_FALSE(end.problem->hint().empty());
      EXPECT_THAT(end.outputs, IsEmpty());
      EXPECT_THAT(end.left_in_scratch, IsEmpty());
    }
}

TEST(scratch_failure, when_one_disk_fails_and_the_other_is_full_the_user_learns_both) {
  const outcome end = run_with(false, {failing(io::direction::write, 4, EIO, "/scratch0"),
                                       failing(io::direction::write, 9, ENOSPC, "/scratch1")});
  ASSERT_NE(end.problem, nullptr);
  std::string told = end.what();
  for (const std::string& warning : end.warnings) told += "\n" + warning;
  EXPECT_THAT(told, AllOf(HasSubstr("Input/output error"), HasSubstr("/scratch0"), HasSubstr("No space left on device"),
                          HasSubstr("/scratch1")));
  EXPECT_THAT(end.outputs, IsEmpty());
}

TEST(scratch_failure, a_write_without_memory_is_not_held_against_the_disk) {
  const outcome end = run_with(false, {{io::direction::write, 4, 1, effect::fail, ENOMEM, "/scratch1"}});
  ASSERT_NE(end.problem, nullptr);
  EXPECT_EQ(end.problem->exit_code(), 75);
  EXPECT_THAT(end.what(), HasSubstr("Cannot allocate memory"));
  EXPECT_THAT(end.problem->hint(), HasSubstr("memory"));
  EXPECT_THAT(end.warnings, IsEmpty());
}

TEST(scratch_failure, a_block_that_cant_be_read_is_never_a_wrong_result) {
  for (const int cause : {EIO, ENODEV})
    for (const bool plain : {false, true})
      for (const uint64_t nth : {1, 6}) {
        const outcome end = run_with(plain, {failing(io::direction::read, nth, cause, "/scratch1")});
        ASSERT_NE(end.problem, nullptr);
        EXPECT_EQ(end.problem->exit_code(), 74);
        EXPECT_THAT(end.what(), AllOf(HasSubstr("can't read"), HasSubstr("/scratch1"), HasSubstr("at offset "),
                                      HasSubstr(errno_text(cause))));
        EXPECT_THAT(end.outputs, IsEmpty());
      }
}

TEST(scratch_failure, a_short_read_is_damage) {
  for (const bool plain : {false, true}) {
    const outcome end = run_with(plain, {{io::direction::read, 2, 1, effect::shorten, 512, "/scratch0"}});
    ASSERT_NE(end.problem, nullptr);
    EXPECT_EQ(end.problem->exit_code(), 74);
    EXPECT_THAT(end.what(), AllOf(HasSubstr("damaged"), HasSubstr("/scratch0"), HasSubstr("512 were read")));
    EXPECT_THAT(end.outputs, IsEmpty());
  }
}

TEST(scratch_failure, a_file_that_was_cut_off_is_damage) {
  for (const bool plain : {false, true}) {
    bool cut = false;
    const outcome end = run(plain, [&](std::unique_ptr<io::backend> inner) {
      return std::make_unique<watched_backend>(std::move(inner), [&](io::request& r) {
        if (r.way != io::direction::read || r.target->path().find("/scratch1") == std::string::npos || cut) return;
        r.target->truncate(0);
        cut = true;
      });
    });
    ASSERT_NE(end.problem, nullptr);
    EXPECT_EQ(end.problem->exit_code(), 74);
    EXPECT_THAT(end.what(), AllOf(HasSubstr("damaged"), HasSubstr("/scratch1"), HasSubstr("at offset ")));
    EXPECT_THAT(end.outputs, IsEmpty());
  }
}

TEST(scratch_failure, a_directory_that_is_removed_meanwhile_is_not_missed) {
  for (const bool plain : {false, true}) {
    int num_removed = 0;
    std::vector<std::string> directories;
    const outcome end = run(
        plain,
        [&](std::unique_ptr<io::backend> inner) {
          return std::make_unique<watched_backend>(std::move(inner), [&](io::request&) {
            for (const std::string& directory : std::exchange(directories, {}))
              num_removed += std::filesystem::remove(directory) ? 1 : 0;
          });
        },
        [&](job_rig& rig) {
          rig.job().open_scratch();
          for (const block::disk_usage& disk : rig.job().disks()) directories.push_back(disk.path);
        });
    ASSERT_EQ(end.problem, nullptr) << end.what();
    EXPECT_EQ(num_removed, 2);
    EXPECT_TRUE(end.outputs == undisturbed());
    EXPECT_THAT(end.warnings, IsEmpty());
  }
}

TEST(scratch_failure, a_directory_that_cant_be_used_is_found_out_at_once) {
  job_rig rig(scratch_job, {});
  const std::string second = rig.job().disks().at(1).path;
  std::ofstream(second) << "a file";
  try {
    rig.job().open_scratch();
    FAIL() << "a file was taken for a directory";
  } catch (const error& problem) {
    EXPECT_EQ(problem.exit_code(), 73);
    EXPECT_THAT(problem.what(), AllOf(HasSubstr(second), HasSubstr("is not a directory")));
    EXPECT_FALSE(problem.hint().empty());
  }
}

}  // namespace
}  // namespace flowrun::exec
