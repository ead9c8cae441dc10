// What a pipeline promises, one promise a test.
#include "engine/exec/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/engine/exec/pipeline_rig.h"

namespace flowrun::exec {
namespace {

numbers first_numbers(uint64_t count) {
  numbers out;
  for (uint64_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

std::unique_ptr<ordered_stage> recorder(numbers& to) {
  return std::make_unique<function_sink>([&to](record::batch& in, output&, waker&) {
    for (uint64_t n : numbers_of(in)) to.push_back(n);
    return outcome::ready();
  });
}

// Takes its time, more for some than for others, so that later batches overtake earlier ones.
std::unique_ptr<stateless_stage> jitter() {
  return std::make_unique<function_stage>([](const record::batch& in, output& out) {
    for (uint64_t i = numbers_of(in)[0] * 7919 % 13; i > 0; --i) std::this_thread::yield();
    out.emit(in);
  });
}

TEST(pipeline, keeps_the_order_through_stages_that_run_in_parallel) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    numbers seen;
    rig.run(chain(counting_source(2000), stages_of(stage(jitter()), stage(jitter()), stage(recorder(seen)))));
    EXPECT_EQ(rig.num_finished(), 1);
    EXPECT_EQ(seen, first_numbers(2000)) << setting.threads << " threads";
  }
}

TEST(pipeline, an_empty_stream_finishes) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    numbers seen;
    int finishes = 0;
    auto sink = std::make_unique<function_sink>([&](record::batch&, output&, waker&) { return outcome::ready(); },
                                                [&](output&, waker&) {
                                                  ++finishes;
                                                  return outcome::done();
                                                });
    rig.run(chain(counting_source(0), stages_of(stage(jitter()), stage(std::move(sink)))));
    EXPECT_EQ(rig.num_finished(), 1);
    EXPECT_EQ(finishes, 1);
  }
}

TEST(pipeline, a_head_alone_is_a_pipeline) {
  pipeline_rig rig({2, 2, 4});
  rig.run(chain(counting_source(100), {}));
  EXPECT_EQ(rig.num_finished(), 1);
}

TEST(pipeline, several_batches_are_in_stateless_stages_at_once) {
  pipeline_rig rig({4, 4, 6});
  numbers seen;
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  auto meeting = std::make_unique<function_stage>([&](const record::batch& in, output& out) {
    ++inside;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!met && std::chrono::steady_clock::now() < deadline) {
      if (inside >= 2) met = true;
      std::this_thread::yield();
    }
    --inside;
    out.emit(in);
  });
  rig.run(chain(counting_source(50), stages_of(stage(std::move(meeting)), stage(recorder(seen)))));
  EXPECT_TRUE(met);
  EXPECT_EQ(seen, first_numbers(50));
}

TEST(pipeline, no_more_workers_than_allowed) {
  for (unsigned max_workers : {1U, 2U, 3U, 8U}) {
    pipeline_rig rig({8, max_workers, 20});
    numbers seen;
    std::atomic<unsigned> inside{0};
    std::atomic<unsigned> most{0};
    auto watched = std::make_unique<function_stage>([&](const record::batch& in, output& out) {
      const unsigned now = ++inside;
      for (unsigned known = most; now > known && !most.compare_exchange_weak(known, now);) {
      }
      for (int i = 0; i < 5; ++i) std::this_thread::yield();
      --inside;
      out.emit(in);
    });
    rig.run(chain(counting_source(500), stages_of(stage(std::move(watched)), stage(recorder(seen)))));
    EXPECT_LE(most, max_workers);
    EXPECT_EQ(seen.size(), 500U);
  }
}

TEST(pipeline, no_more_batches_than_tickets) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    std::atomic<int> alive{0};
    int most = 0;
    auto sink = std::make_unique<function_sink>([&](record::batch&, output&, waker&) {
      most = std::max(most, alive.load());
      return outcome::ready();
    });
    rig.run(chain(counting_source(1000, &alive), stages_of(stage(jitter()), stage(std::move(sink)))));
    EXPECT_LE(most, static_cast<int>(setting.max_tickets));
    EXPECT_EQ(alive, 0);
  }
}

// A sink that never takes anything until the test says so: the head stops at the number of tickets, and goes on after a
// wake.
TEST(pipeline, a_blocked_gate_stops_the_head_and_a_wake_starts_it_again) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    std::atomic<int> alive{0};
    std::atomic<bool> open{false};
    std::atomic<waker*> sleeper{nullptr};
    uint64_t taken = 0;
    auto sink = std::make_unique<function_sink>([&](record::batch&, output&, waker& w) {
      sleeper = &w;
      if (!open) return outcome::blocked(blocked_on::output);
      ++taken;
      return outcome::ready();
    });
    rig.start(chain(counting_source(100, &alive), stages_of(stage(jitter()), stage(std::move(sink)))));
    rig.settle();
    EXPECT_EQ(alive, static_cast<int>(setting.max_tickets));
    EXPECT_NE(rig.running().state().find("waits for room for its rows"), std::string::npos) << rig.running().state();
    sleeper.load()->wake();  // spurious: it looks again and sleeps on
    rig.settle();
    EXPECT_EQ(taken, 0U);
    EXPECT_EQ(alive, static_cast<int>(setting.max_tickets));
    open = true;
    sleeper.load()->wake();
    ASSERT_TRUE(rig.wait()) << rig.running().state();
    rig.take_down();
    EXPECT_EQ(taken, 100U);
    EXPECT_EQ(rig.num_finished(), 1);
  }
}

TEST(pipeline, a_wake_inside_the_call_is_not_lost) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    numbers seen;
    uint64_t calls = 0;
    auto head = std::make_unique<function_source>([&, next = uint64_t{0}](output& out, waker& w) mutable {
      if (++calls % 2 == 0) {
        w.wake();
        return outcome::blocked(blocked_on::io);
      }
      if (next == 100) return outcome::done();
      out.emit(batch_of({next++}));
      return outcome::ready();
    });
    bool refuse = true;
    auto sink = std::make_unique<function_sink>([&](record::batch& in, output&, waker& w) {
      refuse = !refuse;
      if (refuse) {
        w.wake();
        return outcome::blocked(blocked_on::io);
      }
      seen.push_back(numbers_of(in)[0]);
      return outcome::ready();
    });
    rig.run(chain(std::move(head), stages_of(stage(std::move(sink)))));
    EXPECT_EQ(seen, first_numbers(100));
  }
}

TEST(pipeline, a_batch_may_be_taken_in_parts_and_results_given_on_the_way) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    node_counters counted;
    numbers seen;
    auto head = std::make_unique<function_source>([next = uint64_t{0}](output& out, waker&) mutable {
      if (next == 500) return outcome::done();
      out.emit(batch_of({next, next + 1, next + 2, next + 3, next + 4}));
      next += 5;
      return outcome::ready();
    });
    // Gives on one row, then has to wait, with and without having given one on since.
    int calls = 0;
    auto slow = std::make_unique<function_sink>([&](record::batch& in, output& out, waker& w) {
      if (in.num_rows == 0) return outcome::ready();
      if (++calls % 3 == 0) {
        rig.clock().wake_later(w);
        return outcome::blocked(blocked_on::memory);
      }
      out.emit(batch_of({numbers_of(in)[0]}));
      in = in.slice(1, in.num_rows - 1);
      if (in.num_rows == 0) return outcome::ready();
      rig.clock().wake_later(w);
      return outcome::blocked(blocked_on::memory);
    });
    pipeline_tree tree = chain(std::move(head), stages_of(stage(std::move(slow)), stage(recorder(seen))));
    tree.stages[0].input = tree.stages[0].output = &counted;
    rig.run(std::move(tree));
    EXPECT_EQ(seen, first_numbers(500));
    EXPECT_EQ(counted.rows_in, 500U);
    EXPECT_EQ(counted.bytes_in, 4000U);
    EXPECT_EQ(counted.rows_out, 500U);
    EXPECT_EQ(counted.bytes_out, 4000U);
  }
}

// Batches of ten numbers: 0, 1, …, 10 * count - 1.
std::unique_ptr<source> tens(uint64_t count) {
  return std::make_unique<function_source>([count, next = uint64_t{0}](output& out, waker&) mutable {
    if (next == count) return outcome::done();
    numbers ten;
    for (uint64_t i = 0; i < 10; ++i) ten.push_back(10 * next + i);
    ++next;
    out.emit(batch_of(ten));
    return outcome::ready();
  });
}

TEST(pipeline, what_a_stage_leaves_comes_again) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    for (const size_t most : {1U, 3U, 10U, 11U}) {
      pipeline_rig rig(setting);
      node_counters in_parallel, in_order;
      numbers seen;
      auto first = std::make_unique<function_stage>([&](const record::batch& in, output& out) {
        take_rows(in, out, most, [](const record::batch& rows, output& to) {
          for (const uint64_t n : numbers_of(rows)) to.emit(batch_of({n, n}));
        });
      });
      // Takes a row at a time, leaves the others, and waits now and then, with and without the row.
      auto second = std::make_unique<function_sink>([&, calls = 0](record::batch& in, output& out, waker& w) mutable {
        const bool waits = ++calls % 3 != 0;
        if (waits) rig.clock().wake_later(w);
        if (waits && calls % 2 == 0) return outcome::blocked(blocked_on::io);
        out.emit(in.slice(0, 1));
        if (in.num_rows == 1) return outcome::ready();
        if (!waits) {
          out.leave(1);
          return outcome::ready();
        }
        in = in.slice(1, in.num_rows - 1);
        return outcome::blocked(blocked_on::memory);
      });
      pipeline_tree tree =
          chain(tens(20), stages_of(stage(std::move(first)), stage(std::move(second)), stage(recorder(seen))));
      tree.stages[0].input = &in_parallel;
      tree.stages[1].input = &in_order;
      rig.run(std::move(tree));
      numbers twice;
      for (uint64_t n = 0; n < 200; ++n) twice.insert(twice.end(), 2, n);
      EXPECT_EQ(seen, twice);
      EXPECT_EQ(in_parallel.rows_in, 200U);
      EXPECT_EQ(in_parallel.bytes_in, 1600U);
      EXPECT_EQ(in_order.rows_in, 400U);
      EXPECT_EQ(in_order.bytes_in, 3200U);
    }
  }
}

// Of one row a stage makes one piece after another; it finds how far it has come.
TEST(pipeline, a_stage_stops_within_a_row) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    node_counters counted;
    numbers seen;
    auto first = std::make_unique<function_stage>([](const record::batch& in, output& out) {
      const uint64_t n = numbers_of(in)[0], done = out.within();
      out.emit(batch_of({10 * n + done}));
      if (done < 9)
        out.leave(0, done + 1);
      else if (in.num_rows > 1)
        out.leave(1);
    });
    pipeline_tree tree = chain(tens(20), stages_of(stage(std::move(first)), stage(jitter()), stage(recorder(seen))));
    tree.stages[0].input = &counted;
    rig.run(std::move(tree));
    EXPECT_EQ(seen, first_numbers(2000));
    EXPECT_EQ(counted.rows_in, 200U);
    EXPECT_EQ(counted.bytes_in, 1600U);
  }
}

TEST(pipeline, an_output_is_full_with_a_batch) {
  const record::batch in = batch_of({1, 2, 3});
  output out({.num_bytes = 20}, in, 0);
  EXPECT_FALSE(out.full());
  out.emit(batch_of({1, 2}));
  EXPECT_EQ(out.room(), 4U);
  out.emit(batch_of({}));
  EXPECT_FALSE(out.full());
  out.emit(batch_of({3}));
  EXPECT_TRUE(out.full());
  EXPECT_FALSE(out.leaves_rows());
}

// What shares the heap of the input takes no memory for it.
TEST(pipeline, an_output_counts_new_heaps_only) {
  std::byte heap[100];
  record::batch in = batch_of({1, 2, 3});
  in.heap = heap;
  in.heap_bytes = sizeof heap;
  output out({.num_bytes = 200}, in, 0);
  out.emit(in);
  EXPECT_EQ(out.room(), 200U - 24U);
  record::batch other = batch_of({4});
  std::byte another[150];
  other.heap = another;
  other.heap_bytes = sizeof another;
  out.emit(other);
  EXPECT_EQ(out.room(), 200U - 24U - 158U);
}

// The heap of a batch isn't counted with each piece.
TEST(pipeline, a_heap_is_counted_once) {
  pipeline_rig rig({2, 2, 4});
  node_counters counted;
  numbers seen;
  auto head = std::make_unique<function_source>([done = false](output& out, waker&) mutable {
    if (std::exchange(done, true)) return outcome::done();
    record::batch b = batch_of({1, 2, 3, 4, 5});
    b.heap_bytes = 1000;
    out.emit(std::move(b));
    return outcome::ready();
  });
  auto pieces = std::make_unique<function_stage>([](const record::batch& in, output& out) {
    take_rows(in, out, 2, [](const record::batch& rows, output& to) { to.emit(rows); });
  });
  pipeline_tree tree = chain(std::move(head), stages_of(stage(std::move(pieces)), stage(recorder(seen))));
  tree.stages[0].input = tree.stages[0].output = &counted;
  rig.run(std::move(tree));
  EXPECT_EQ(seen, (numbers{1, 2, 3, 4, 5}));
  EXPECT_EQ(counted.bytes_in, 1040U);
  EXPECT_EQ(counted.bytes_out, 1040U);
}

TEST(pipeline, a_ticket_that_grows_is_made_at_the_gate_piece_by_piece) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    std::atomic<int> alive{0};
    int most = 0;
    numbers seen;
    auto grow = std::make_unique<function_stage>([&alive](const record::batch& in, output& out) {
      take_rows(in, out, 1, [&alive](const record::batch& row, output& to) {
        to.emit(batch_of(numbers(1 << 17, numbers_of(row)[0]), &alive));
        EXPECT_TRUE(to.full());
      });
    });
    auto sink = std::make_unique<function_sink>([&](record::batch& in, output&, waker&) {
      most = std::max(most, alive.load());
      seen.push_back(numbers_of(in.slice(0, 1))[0]);
      return outcome::ready();
    });
    rig.run(chain(tens(20), stages_of(stage(std::move(grow)), stage(jitter()), stage(std::move(sink)))));
    EXPECT_EQ(seen, first_numbers(200));
    EXPECT_LE(most, static_cast<int>(setting.max_tickets) * 4 + 1);
    EXPECT_EQ(alive, 0);
  }
}

// However many tickets there may be: what waits at the gate is bounded in bytes, too.
TEST(pipeline, the_head_rests_while_large_tickets_wait) {
  for (pipeline_setting setting : pipeline_settings()) {
    setting.max_tickets = 100;
    pipeline_rig rig(setting);
    std::atomic<int> alive{0};
    int most = 0;
    uint64_t num_pulls = 0;
    numbers seen;
    auto head = std::make_unique<function_source>([&](output& out, waker&) {
      if (num_pulls == 100) return outcome::done();
      numbers two_mebibytes(1 << 18, num_pulls++);
      out.emit(batch_of(two_mebibytes, &alive));
      return outcome::ready();
    });
    auto sink = std::make_unique<function_sink>([&, waited = false](record::batch& in, output&, waker& w) mutable {
      most = std::max(most, alive.load());
      if (!std::exchange(waited, true)) {
        rig.clock().wake_later(w);
        return outcome::blocked(blocked_on::io);
      }
      waited = false;
      seen.push_back(numbers_of(in.slice(0, 1))[0]);
      return outcome::ready();
    });
    rig.run(chain(std::move(head), stages_of(stage(jitter()), stage(std::move(sink)))));
    EXPECT_EQ(seen, first_numbers(100));
    EXPECT_LE(most, 8 + 1 + static_cast<int>(setting.max_workers));
    EXPECT_EQ(alive, 0);
  }
}

TEST(pipeline, finish_may_emit_in_several_steps_and_parents_finish_first) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    numbers seen;
    auto tail_of = [&rig](uint64_t tag) {
      return std::make_unique<function_sink>(
          [](record::batch& in, output& out, waker&) {
            out.emit(in);
            return outcome::ready();
          },
          [&rig, tag, step = 0](output& out, waker& w) mutable {
            ++step;
            if (step == 2 || step == 5) {
              rig.clock().wake_later(w);
              return outcome::blocked(blocked_on::io);
            }
            if (step == 4) {  // gives and waits at once
              out.emit(batch_of({tag + 1}));
              rig.clock().wake_later(w);
              return outcome::blocked(blocked_on::io);
            }
            out.emit(batch_of({tag + static_cast<uint64_t>(step) * 10}));
            return step < 7 ? outcome::ready() : outcome::done();
          });
    };
    rig.run(chain(counting_source(3),
                  stages_of(stage(tail_of(1000)), stage(jitter()), stage(tail_of(2000)), stage(recorder(seen)))));
    EXPECT_EQ(seen, (numbers{0, 1, 2, 1010, 1030, 1001, 1060, 1070, 2010, 2030, 2001, 2060, 2070}));
  }
}

TEST(pipeline, ports_and_forks_keep_their_order) {
  for (const pipeline_setting& setting : pipeline_settings()) {
    pipeline_rig rig(setting);
    numbers even, odd, all, again;
    pipeline_tree tree;
    tree.head = counting_source(1000);
    tree.head_children = {{0, 1}};
    auto split = std::make_unique<function_stage>([](const record::batch& in, output& out) {
      const uint64_t n = numbers_of(in)[0];
      for (uint64_t i = n * 31 % 5; i > 0; --i) std::this_thread::yield();
      out.emit(in, static_cast<unsigned>(n % 3));  // the third port has no consumer
    });
    tree.stages.resize(5);
    tree.stages[0].work = std::unique_ptr<stateless_stage>(std::move(split));
    tree.stages[0].children = {{2}, {3, 4}};
    tree.stages[1].work = recorder(all);
    tree.stages[2].work = recorder(even);
    tree.stages[3].work = recorder(odd);
    tree.stages[4].work = recorder(again);
    rig.run(std::move(tree));
    numbers zeros, ones;
    for (uint64_t n = 0; n < 1000; ++n) {
      if (n % 3 == 0) zeros.push_back(n);
      if (n % 3 == 1) ones.push_back(n);
    }
    EXPECT_EQ(all, first_numbers(1000));
    EXPECT_EQ(even, zeros);
    EXPECT_EQ(odd, ones);
    EXPECT_EQ(again, ones);
  }
}

TEST(pipeline, waiting_is_charged_to_who_waited) {
  pipeline_rig rig({2, 2, 4});
  node_counters head_counters, sink_counters;
  auto head = std::make_unique<function_source>([&, calls = 0](output& out, waker& w) mutable {
    if (++calls == 1) {
      rig.clock().wake_later(w);
      return outcome::blocked(blocked_on::io);
    }
    if (calls > 10) return outcome::done();
    out.emit(batch_of({1}));
    return outcome::ready();
  });
  auto sink = std::make_unique<function_sink>([&, calls = 0](record::batch&, output&, waker& w) mutable {
    if (++calls % 2 == 1) {
      rig.clock().wake_later(w);
      return outcome::blocked(blocked_on::output);
    }
    return outcome::ready();
  });
  pipeline_tree tree = chain(std::move(head), stages_of(stage(std::move(sink))));
  tree.head_busy = tree.head_output = &head_counters;
  tree.stages[0].busy = tree.stages[0].input = &sink_counters;
  rig.run(std::move(tree));
  EXPECT_EQ(head_counters.rows_out, 9U);
  EXPECT_EQ(sink_counters.rows_in, 9U);
  EXPECT_GT(head_counters.busy_ns, 0U);
  EXPECT_EQ(head_counters.blocked_ns[static_cast<size_t>(blocked_on::output)], 0U);
  EXPECT_EQ(sink_counters.blocked_ns[static_cast<size_t>(blocked_on::io)], 0U);
  EXPECT_GT(head_counters.blocked_ns[static_cast<size_t>(blocked_on::io)] +
                sink_counters.blocked_ns[static_cast<size_t>(blocked_on::output)],
            0U);
}

}  // namespace
}  // namespace flowrun::exec
