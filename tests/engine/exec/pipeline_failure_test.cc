// Errors and stops in every place: the pipeline ends, says so, and can be taken down while wakes still come.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/engine/exec/pipeline_rig.h"

namespace flowrun::exec {
namespace {

enum class place { head, parallel_stage, ordered_stage, finish };

// Throws at `at` for the `nth` time; everything else works and blocks now and then.
pipeline_tree failing_tree(pipeline_rig& rig, place at, uint64_t nth, std::atomic<int>& alive) {
  auto fail = [at, nth, calls = std::make_shared<std::atomic<uint64_t>>(0)](place here) {
    if (here == at && ++*calls == nth) throw std::runtime_error("as asked");
  };
  auto head =
      std::make_unique<function_source>([&rig, &alive, fail, next = uint64_t{0}](output& out, waker& w) mutable {
        fail(place::head);
        if (next == 50) return outcome::done();
        out.emit(batch_of({next, next + 1}, &alive));
        if (++next % 4 > 0) return outcome::ready();
        rig.clock().wake_later(w);
        return outcome::blocked(blocked_on::io);
      });
  auto parallel = std::make_unique<function_stage>([fail](const record::batch& in, output& out) {
    fail(place::parallel_stage);
    out.emit(in);
  });
  auto in_order = std::make_unique<function_sink>(
      [&rig, fail, calls = 0](record::batch& in, output& out, waker& w) mutable {
        fail(place::ordered_stage);
        out.emit(in.slice(0, 1));
        in = in.slice(1, in.num_rows - 1);
        if (in.num_rows == 0 || ++calls % 3 > 0) return outcome::ready();
        rig.clock().wake_later(w);
        return outcome::blocked(blocked_on::memory);
      },
      [fail](output&, waker&) {
        fail(place::finish);
        return outcome::done();
      });
  auto sink = std::make_unique<function_sink>([](record::batch&, output&, waker&) { return outcome::ready(); });
  return chain(std::move(head),
               stages_of(stage(std::move(parallel)), stage(std::move(in_order)), stage(std::move(sink))));
}

TEST(pipeline_failure, an_exception_anywhere_ends_it) {
  std::atomic<int> alive{0};
  for (const pipeline_setting& setting : pipeline_settings()) {
    for (const place at : {place::head, place::parallel_stage, place::ordered_stage, place::finish}) {
      for (const uint64_t nth : {1U, 2U, 37U}) {
        if (at == place::finish && nth > 1) continue;
        pipeline_rig rig(setting, nth);
        rig.run(failing_tree(rig, at, nth, alive));
        EXPECT_GE(rig.num_failed(), 1);
        EXPECT_EQ(rig.num_finished(), 0);
        EXPECT_EQ(rig.problem(), "as asked");
        EXPECT_EQ(alive, 0) << "a batch outlived the pipeline";
      }
    }
  }
}

// Stages that make many rows from each are left between two pieces of a batch.
TEST(pipeline_failure, the_stop_flag_ends_a_batch_that_takes_long) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    for (const bool in_order : {false, true}) {
      pipeline_rig rig(setting);
      std::atomic<int> alive{0};
      std::atomic<uint64_t> pieces{0};
      const auto work = [&](const record::batch& in, output& out) {
        if (++pieces == 100) rig.end_now();
        take_rows(in, out, 1, [](const record::batch& row, output& to) { to.emit(row); });
      };
      auto head = std::make_unique<function_source>([&](output& out, waker&) {
        out.emit(batch_of(numbers(10'000, 7), &alive));
        return outcome::ready();
      });
      auto parallel = std::make_unique<function_stage>(work);
      auto ordered = std::make_unique<function_sink>([&](record::batch& in, output& out, waker&) {
        work(in, out);
        return outcome::ready();
      });
      auto sink = std::make_unique<function_sink>([](record::batch&, output&, waker&) { return outcome::ready(); });
      rig.run(chain(std::move(head), in_order ? stages_of(stage(std::move(ordered)), stage(std::move(sink)))
                                              : stages_of(stage(std::move(parallel)), stage(std::move(sink)))));
      EXPECT_LT(pieces, 100U + setting.max_tickets);
      EXPECT_EQ(rig.num_finished(), 0);
      EXPECT_EQ(alive, 0);
    }
  }
}

TEST(pipeline_failure, the_stop_flag_ends_an_endless_stream) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    std::atomic<int> alive{0};
    uint64_t pulls = 0;
    auto head = std::make_unique<function_source>([&](output& out, waker& w) {
      if (++pulls == 300) rig.end_now();
      out.emit(batch_of({pulls}, &alive));
      if (pulls % 3 > 0) return outcome::ready();
      rig.clock().wake_later(w);
      return outcome::blocked(blocked_on::input);
    });
    auto parallel = std::make_unique<function_stage>([](const record::batch& in, output& out) { out.emit(in); });
    auto sink = std::make_unique<function_sink>([](record::batch&, output&, waker&) { return outcome::ready(); });
    rig.run(chain(std::move(head), stages_of(stage(std::move(parallel)), stage(std::move(sink)))));
    EXPECT_EQ(rig.num_finished(), 0);
    EXPECT_EQ(rig.num_failed(), 0);
    EXPECT_GE(pulls, 300U);
    EXPECT_LE(pulls, 301U);
    EXPECT_EQ(alive, 0);
  }
}

// A pipeline that is never blocked must not keep its thread for itself: here the task that would stop it waits behind
// it.
TEST(pipeline_failure, an_endless_stream_leaves_others_their_turn) {
  for (const pipeline_setting& setting : {pipeline_setting{0, 1, 3}, pipeline_setting{1, 1, 3}}) {
    pipeline_rig rig(setting);
    auto head = std::make_unique<function_source>([](output& out, waker&) {
      out.emit(batch_of({1}));
      return outcome::ready();
    });
    auto sink = std::make_unique<function_sink>([](record::batch&, output&, waker&) { return outcome::ready(); });
    rig.start(chain(std::move(head), stages_of(stage(std::move(sink)))));
    rig.executor().post([&rig] { rig.end_now(); });
    EXPECT_TRUE(rig.wait());
    EXPECT_EQ(rig.num_finished(), 0);
  }
}

// Head and gate sleep and have not been told of the stop. Their wakes come after their operators are gone.
TEST(pipeline_failure, wakes_may_come_after_the_end) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    std::unique_ptr<task_executor> executor =
        setting.threads == 0 ? make_plain_executor() : make_arena_executor(setting.threads);
    std::atomic<bool> stop{false};
    waker* head_waker = nullptr;
    waker* gate_waker = nullptr;
    auto head = std::make_unique<function_source>([&, first = true](output& out, waker& w) mutable {
      head_waker = &w;
      if (!std::exchange(first, false)) return outcome::blocked(blocked_on::io);
      out.emit(batch_of({1}));
      return outcome::ready();
    });
    auto sink = std::make_unique<function_sink>([&](record::batch&, output&, waker& w) {
      gate_waker = &w;
      return outcome::blocked(blocked_on::output);
    });
    pipeline_events events;
    events.finished = [] { ADD_FAILURE() << "it can't finish"; };
    events.failed = [](const std::exception_ptr&) { ADD_FAILURE() << "nothing fails"; };
    events.stopped = [&] { return stop.load(); };
    pipeline p(chain(std::move(head), stages_of(stage(std::move(sink)))), *executor, setting.max_workers, 3,
               std::move(events));
    p.start();
    executor->drain();
    ASSERT_NE(head_waker, nullptr);
    ASSERT_NE(gate_waker, nullptr);
    stop = true;
    p.dismantle();
    head_waker->wake();
    gate_waker->wake();
    executor->drain();
    head_waker->wake();
    executor->drain();
  }
}

}  // namespace
}  // namespace flowrun::exec
