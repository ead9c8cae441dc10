// Jobs that end early: the first error is told, nothing is written, and everything can be taken down while disks are at
// work.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "engine/io/faulty_backend.h"
#include "tests/support/gated_backend.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// Scratch everywhere: two sorts, and a queue between branches that meet again.
constexpr const char* scratch_job = R"yaml(
  drawn:  {op: generate, with: {rows: 40000, columns: {k: "u32(rand(1, i) % 500)", v: "u32(rand(2, i))", w: i}}}
  sorted: {op: sort, in: drawn, with: {by: [k, v, w]}}
  counts: {op: group, in: sorted, with: {by: [k], let: {n: "count()"}}}
  joined: {op: join, in: {left: sorted, right: counts}, with: {by: [k]}}
  back:   {op: sort, in: joined, with: {by: [w]}}
  write:  {op: file.write_rows, in: back, with: {path: @OUT/back.bin}}
  also:   {op: file.write_rows, in: counts, with: {path: @OUT/counts.bin}}
)yaml";

// Stops while the disks still work on what was asked of them.
TEST(job_failure, may_be_stopped_in_every_phase) {
  for (const bool plain : {false, true}) {
    bool ended = false;
    uint64_t last_phase = 0;
    for (uint64_t hold_from = 0; !ended; hold_from = hold_from * 2 + 1) {
      ASSERT_LT(hold_from, 100'000U);
      gated_backend* gate = nullptr;
      job_place place = scratch_place(plain);
      place.wrap_backend = [&](std::unique_ptr<io::backend> inner) {
        auto gated = std::make_unique<gated_backend>(std::move(inner), hold_from);
        gate = gated.get();
        return gated;
      };
      job_rig rig(scratch_job, place);
      std::thread releasing;
      const std::unique_ptr<error> problem = rig.run([&] {
        if (!gate->is_holding()) return;
        last_phase = std::max<uint64_t>(last_phase, rig.job().progress().phase);
        if (rig.stop().exchange(true) && !releasing.joinable()) releasing = std::thread([gate] { gate->release(); });
      });
      if (problem == nullptr) {
        ended = true;  // all requests came through
        EXPECT_EQ(rig.outputs().size(), 2U);
      } else {
        EXPECT_EQ(problem->kind(), error_kind::cancelled) << problem->what();
        EXPECT_EQ(rig.report(problem.get()).status(), "cancelled");
        EXPECT_TRUE(rig.outputs().empty());
      }
      rig.destroy();
      if (releasing.joinable()) releasing.join();
      EXPECT_EQ(rig.outputs().size(), ended ? 2U : 0U);
    }
    EXPECT_GE(last_phase, 1U);
  }
}

TEST(job_failure, an_endless_job_is_stopped) {
  for (const bool plain : {false, true}) {
    job_place place = scratch_place(plain);
    place.force_spill = false;
    job_rig rig(R"yaml(
  drawn: {op: generate, with: {rows: 1000000000000, columns: {v: "rand(2, i)"}}}
  some:  {op: filter, in: drawn, with: {where: "v % 2 == 0"}}
  sum:   {op: reduce, in: some, with: {let: {rows: "count()"}}}
)yaml",
                place);
    const std::unique_ptr<error> problem = rig.run([&] { rig.stop() = true; });
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind(), error_kind::cancelled);
    EXPECT_GT(rig.node(rig.report(), "drawn").rows(), 0U);
  }
}

std::unique_ptr<error> run_with_fault(bool plain, io::injected_fault fault, uint64_t& num_hit,
                                      std::map<std::string, std::string>& outputs) {
  io::faulty_backend* faulty = nullptr;
  job_place place = scratch_place(plain);
  place.wrap_backend = [&](std::unique_ptr<io::backend> inner) {
    auto wrapped = std::make_unique<io::faulty_backend>(std::move(inner), std::vector<io::injected_fault>{fault});
    faulty = wrapped.get();
    return wrapped;
  };
  job_rig rig(scratch_job, place);
  std::unique_ptr<error> problem = rig.run();
  num_hit = faulty->num_hit();
  if (problem) {
    const RunReport report = rig.report(problem.get());
    EXPECT_EQ(report.status(), "failed");
    EXPECT_EQ(report.error(), problem->what());
  }
  rig.destroy();
  outputs = rig.outputs();
  return problem;
}

// The n-th transfer fails and `num_requests` - 1 after it, for n through the whole job: run creation, merging, queues,
// output.
void expect_every_failure_told(io::direction way, io::injected_fault::effect what, uint64_t num_requests = 1) {
  for (const bool plain : {false, true}) {
    uint64_t num_hit = 1;
    int failures = 0;
    for (uint64_t nth = 1; num_hit > 0; nth += 1 + nth / 2) {
      std::map<std::string, std::string> outputs;
      const std::unique_ptr<error> problem =
          run_with_fault(plain, {way, nth, num_requests, what, EIO}, num_hit, outputs);
      if (num_hit == 0) {
        EXPECT_EQ(problem, nullptr);
        EXPECT_EQ(outputs.size(), 2U);
        break;
      }
      ++failures;
      ASSERT_NE(problem, nullptr) << "transfer " << nth << " failed unnoticed";
      EXPECT_EQ(problem->kind(), error_kind::io) << problem->what();
      EXPECT_TRUE(outputs.empty());
    }
    EXPECT_GE(failures, 5);
  }
}

// (A single one is made good on another disk: scratch_failure_test.cc.)
TEST(job_failure, writes_that_fail_from_then_on_are_told) {
  expect_every_failure_told(io::direction::write, io::injected_fault::effect::fail, UINT64_MAX);
}
TEST(job_failure, every_failing_read_is_told) {
  expect_every_failure_told(io::direction::read, io::injected_fault::effect::fail);
}
TEST(job_failure, every_bit_that_rots_in_scratch_is_noticed) {
  expect_every_failure_told(io::direction::read, io::injected_fault::effect::flip_bit);
}

TEST(job_failure, full_scratch_is_told) {
  for (const bool plain : {false, true}) {
    job_place place = scratch_place(plain);
    place.scratch_limit = 128 * KiB;
    job_rig rig(scratch_job, place);
    const std::unique_ptr<error> problem = rig.run();
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind(), error_kind::resources);
    EXPECT_NE(std::string(problem->what()).find("scratch0"), std::string::npos) << problem->what();
    EXPECT_TRUE(rig.outputs().empty());
  }
}

TEST(job_failure, an_error_of_an_operator_ends_all_pipelines) {
  for (const bool plain : {false, true}) {
    job_place place = scratch_place(plain);
    job_rig rig(R"yaml(
  drawn:  {op: generate, with: {rows: 200000, columns: {v: "rand(2, i) % 100000"}}}
  sorted: {op: sort, in: drawn, with: {by: [v]}}
  sure:   {op: check, in: sorted, with: {unique: [v]}}
  other:  {op: generate, with: {rows: 1000000000000, columns: {v: "i"}}}
  both:   {op: merge, in: [sure, other], with: {by: [v]}}
  write:  {op: file.write_rows, in: both, with: {path: @OUT/both.bin}}
)yaml",
                place);
    const std::unique_ptr<error> problem = rig.run();
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind(), error_kind::bad_data) << problem->what();
    EXPECT_TRUE(rig.outputs().empty());
  }
}

TEST(job_failure, a_missing_input_ends_it_before_anything_is_made) {
  job_rig rig(R"yaml(
  other: {op: generate, with: {rows: 100000, columns: {v: "i"}}}
  first: {op: file.write_rows, in: other, with: {path: @OUT/first.bin}}
  rows:  {op: file.read_rows, with: {path: @IN/none.bin, type: {v: u64}}}
  write: {op: file.write_rows, in: rows, with: {path: @OUT/copy.bin}}
)yaml",
              {});
  const std::unique_ptr<error> problem = rig.run();
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->kind(), error_kind::missing_input);
  EXPECT_NE(std::string(problem->what()).find("none.bin"), std::string::npos);
  EXPECT_TRUE(rig.outputs().empty());
}

TEST(job_failure, an_older_output_stays_as_it_is) {
  job_place place = scratch_place(false);
  place.scratch_limit = 128 * KiB;
  job_rig rig(scratch_job, place);
  std::filesystem::create_directories(rig.out_directory());
  std::ofstream(rig.out_directory() + "/back.bin") << "older";
  EXPECT_NE(rig.run(), nullptr);
  rig.destroy();
  EXPECT_EQ(rig.outputs(), (std::map<std::string, std::string>{{"back.bin", "older"}}));
}

TEST(job_failure, a_tick_may_throw) {
  for (const bool plain : {false, true}) {
    job_rig rig(scratch_job, scratch_place(plain));
    const std::unique_ptr<error> problem = rig.run([] { throw error(error_kind::usage, "no more ticks"); });
    ASSERT_NE(problem, nullptr);
    EXPECT_STREQ(problem->what(), "no more ticks");
    rig.destroy();
    EXPECT_TRUE(rig.outputs().empty());
  }
}

}  // namespace
}  // namespace flowrun::exec
