// Loops that end early: stopped while disks are at work, and with transfers that fail, at every place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "engine/io/faulty_backend.h"
#include "tests/support/gated_backend.h"
#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// Everything that a loop has on scratch: an input, a carried stream, sorted runs, collected rows.
constexpr const char* job = R"yaml(
  drawn: {op: generate, with: {rows: 20000, columns: {v: "rand(2, i) % 5000", w: i}}}
  rounds:
    op: loop
    in: {drawn: drawn}
    with:
      carry: {cur: {from: drawn}, t: {value: 0}}
      body:
        both:   {op: concat, in: [cur, drawn]}
        sorted: {op: sort, in: both, with: {by: [v, w], unique: true}}
        some:   {op: filter, in: sorted, with: {where: "(v + t) % 3 != 0"}}
        sum:    {op: reduce, in: some, with: {let: {n: "count()"}}}
      next:    {cur: some, t: "t + 1"}
      until:   "sum.n == 0 or t == 2"
      collect: {all: some}
  back:  {op: sort, in: rounds.all, with: {by: [w, v]}}
  write: {op: file.write_rows, in: back, with: {path: @OUT/back.bin}}
  end:   {op: file.write_rows, in: rounds.cur, with: {path: @OUT/end.bin}}
)yaml";

TEST(loop_failure, may_be_stopped_anywhere) {
  for (const bool plain : {false, true}) {
    bool ended = false;
    for (uint64_t hold_from = 0; !ended; hold_from = hold_from * 2 + 1) {
      ASSERT_LT(hold_from, 100'000U);
      gated_backend* gate = nullptr;
      job_place place = scratch_place(plain);
      place.wrap_backend = [&](std::unique_ptr<io::backend> inner) {
        auto gated = std::make_unique<gated_backend>(std::move(inner), hold_from);
        gate = gated.get();
        return gated;
      };
      job_rig rig(job, place);
      std::thread releasing;
      const std::unique_ptr<error> problem = rig.run([&] {
        if (!gate->is_holding()) return;
        if (rig.stop().exchange(true) && !releasing.joinable()) releasing = std::thread([gate] { gate->release(); });
      });
      ended = problem == nullptr;  // all requests came through
      if (problem != nullptr) {
        EXPECT_EQ(problem->kind(), error_kind::cancelled) << problem->what();
      }
      // What is still held must not keep the job from being taken down.
      if (!releasing.joinable()) releasing = std::thread([gate] { gate->release(); });
      releasing.join();
      rig.destroy();
      EXPECT_EQ(rig.outputs().size(), ended ? 2U : 0U);
    }
  }
}

TEST(loop_failure, every_failed_transfer_is_told) {
  for (const bool plain : {false, true})
    for (const io::direction way : {io::direction::read, io::direction::write}) {
      uint64_t num_hit = 1;
      int failures = 0;
      // Both disks of the rig refuse everything from the n-th transfer on.
      for (uint64_t nth = 1; num_hit > 0; nth += 1 + nth / 2) {
        io::faulty_backend* faulty = nullptr;
        job_place place = scratch_place(plain);
        place.wrap_backend = [&](std::unique_ptr<io::backend> inner) {
          auto wrapped = std::make_unique<io::faulty_backend>(
              std::move(inner),
              std::vector<io::injected_fault>{{way, nth, 1'000'000, io::injected_fault::effect::fail, EIO, "scratch"}});
          faulty = wrapped.get();
          return wrapped;
        };
        job_rig rig(job, place);
        const std::unique_ptr<error> problem = rig.run();
        num_hit = faulty->num_hit();
        EXPECT_EQ(problem == nullptr, num_hit == 0) << "transfer " << nth;
        if (problem != nullptr) {
          ++failures;
          EXPECT_EQ(problem->kind(), error_kind::io) << problem->what();
        }
        rig.destroy();
        EXPECT_EQ(rig.outputs().size(), num_hit == 0 ? 2U : 0U);
      }
      EXPECT_GT(failures, 3);
    }
}

}  // namespace
}  // namespace flowrun::exec
