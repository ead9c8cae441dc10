#include "engine/exec/edge_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/exec/pipeline_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::exec {
namespace {

constexpr uint64_t no_limit = ~uint64_t{0};

TEST(bounded_queue, holds_the_producer_back_until_there_is_room) {
  const auto queue = make_bounded_queue(2, no_limit);
  counting_waker producer;
  counting_waker consumer;
  const record::batch* front = nullptr;
  EXPECT_TRUE(queue->peek(front, consumer).is_blocked());
  record::batch b = batch_of({1});
  EXPECT_TRUE(queue->push(b, producer).is_ready());
  EXPECT_EQ(consumer.num_wakes(), 1);
  b = batch_of({2});
  EXPECT_TRUE(queue->push(b, producer).is_ready());
  EXPECT_EQ(consumer.num_wakes(), 1);  // it was awake
  b = batch_of({3});
  const outcome full = queue->push(b, producer);
  EXPECT_TRUE(full.is_blocked());
  EXPECT_EQ(full.why(), blocked_on::output);
  EXPECT_EQ(numbers_of(b), numbers{3});
  EXPECT_EQ(producer.num_wakes(), 0);
  ASSERT_TRUE(queue->peek(front, consumer).is_ready());
  EXPECT_EQ(numbers_of(*front), numbers{1});
  queue->pop();
  EXPECT_EQ(producer.num_wakes(), 1);
  EXPECT_TRUE(queue->push(b, producer).is_ready());
  EXPECT_TRUE(queue->close(producer).is_done());
  for (uint64_t expected : {2U, 3U}) {
    ASSERT_TRUE(queue->peek(front, consumer).is_ready());
    EXPECT_EQ(numbers_of(*front), numbers{expected});
    queue->pop();
  }
  EXPECT_TRUE(queue->peek(front, consumer).is_done());
}

// As one that reads a row of each needs it, however much the producer has for the first before it comes to the second.
TEST(bounded_queue, takes_more_while_one_in_step_is_empty) {
  const auto first = make_bounded_queue(1, no_limit);
  const auto second = make_bounded_queue(1, no_limit, first.get());
  counting_waker w;
  const auto push = [&](edge_queue& to, uint64_t x) {
    record::batch b = batch_of({x});
    return to.push(b, w);
  };
  const auto pop = [&](edge_queue& from) {
    const record::batch* front = nullptr;
    EXPECT_TRUE(from.peek(front, w).is_ready());
    from.pop();
  };
  for (const uint64_t x : {1U, 2U, 3U}) EXPECT_TRUE(push(*first, x).is_ready());
  EXPECT_TRUE(push(*second, 1).is_ready());
  EXPECT_TRUE(push(*second, 2).is_blocked());
  EXPECT_TRUE(push(*first, 4).is_blocked());
  pop(*second);
  EXPECT_EQ(w.num_wakes(), 2);  // both: what the first has isn't enough, either
  EXPECT_TRUE(push(*first, 4).is_ready());
  EXPECT_TRUE(second->close(w).is_done());
  EXPECT_TRUE(push(*first, 5).is_blocked());
}

TEST(bounded_queue, close_wakes_the_consumer) {
  const auto queue = make_bounded_queue(1, no_limit);
  counting_waker w;
  const record::batch* front = nullptr;
  const outcome empty = queue->peek(front, w);
  EXPECT_TRUE(empty.is_blocked());
  EXPECT_EQ(empty.why(), blocked_on::input);
  EXPECT_TRUE(queue->close(w).is_done());
  EXPECT_EQ(w.num_wakes(), 1);
  EXPECT_TRUE(queue->peek(front, w).is_done());
}

TEST(bounded_queue, forgets_its_wakers) {
  const auto queue = make_bounded_queue(1, no_limit);
  counting_waker gone;
  const record::batch* front = nullptr;
  EXPECT_TRUE(queue->peek(front, gone).is_blocked());
  queue->forget_wakers();
  record::batch b = batch_of({1});
  EXPECT_TRUE(queue->push(b, gone).is_ready());
  EXPECT_EQ(gone.num_wakes(), 0);
}

TEST(bounded_queue, what_waits_in_it_dies_with_it) {
  std::atomic<int> alive{0};
  {
    const auto queue = make_bounded_queue(4, no_limit);
    counting_waker w;
    for (uint64_t i = 0; i < 3; ++i) {
      record::batch b = batch_of({i}, &alive);
      EXPECT_TRUE(queue->push(b, w).is_ready());
    }
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

TEST(bounded_queue, between_two_threads) {
  for (size_t max_batches : {1U, 2U, 5U}) {
    const auto queue = make_bounded_queue(max_batches, no_limit);
    std::atomic<int> alive{0};
    std::thread producer([&] {
      blocking_waker w;
      for (uint64_t i = 0; i < 5000; ++i) {
        record::batch b = batch_of({i}, &alive);
        while (queue->push(b, w).is_blocked()) w.wait();
      }
      EXPECT_TRUE(queue->close(w).is_done());
    });
    blocking_waker w;
    const record::batch* front = nullptr;
    uint64_t next = 0;
    for (outcome o; !(o = queue->peek(front, w)).is_done();) {
      if (o.is_blocked()) {
        w.wait();
        continue;
      }
      ASSERT_EQ(numbers_of(*front), numbers{next});
      ASSERT_LE(alive, static_cast<int>(max_batches) + 1);  // and the one in the producer's hands
      ++next;
      queue->pop();
    }
    producer.join();
    EXPECT_EQ(next, 5000U);
    EXPECT_EQ(alive, 0);
  }
}

// Two pipelines with a queue between them, both slower in turns.
TEST(bounded_queue, joins_two_pipelines) {
  for (unsigned threads : {0U, 1U, 4U}) {
    const auto executor = threads == 0 ? make_plain_executor() : make_arena_executor(threads);
    const auto queue = make_bounded_queue(3, no_limit);
    alarm clock(threads + 1);
    std::atomic<int> finished{0};
    numbers seen;
    auto events = [&] {
      pipeline_events e;
      e.finished = [&] {
        ++finished;
        executor->notify();
      };
      e.failed = [](const std::exception_ptr&) { ADD_FAILURE() << "nothing fails"; };
      e.stopped = [] { return false; };
      return e;
    };
    auto reader = std::make_unique<function_source>([&, calls = 0](output& out, waker& w) mutable {
      if (++calls % 7 == 0) {
        clock.wake_later(w);
        return outcome::blocked(blocked_on::io);
      }
      const record::batch* front = nullptr;
      const outcome o = queue->peek(front, w);
      if (!o.is_ready()) return o;
      out.emit(*front);
      queue->pop();
      return outcome::ready();
    });
    auto sink = std::make_unique<function_sink>([&](record::batch& in, output&, waker&) {
      seen.push_back(numbers_of(in)[0]);
      return outcome::ready();
    });
    pipeline first(chain(counting_source(3000), stages_of(stage(make_queue_sink(*queue)))), *executor, 4, 6, events());
    pipeline second(chain(std::move(reader), stages_of(stage(std::move(sink)))), *executor, 4, 6, events());
    first.start();
    second.start();
    EXPECT_TRUE(executor->wait([&] { return finished == 2; }, std::chrono::seconds(60)));
    executor->drain();
    clock.stop();
    executor->drain();
    ASSERT_EQ(seen.size(), 3000U);
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_EQ(seen[i], i);
  }
}

}  // namespace
}  // namespace flowrun::exec
