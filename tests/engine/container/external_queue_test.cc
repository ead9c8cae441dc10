// First in, first out, for any memory, rows and interleaving of the two ends.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/engine/container/queue_contents.h"
#include "tests/engine/container/row_kinds.h"
#include "tests/support/held_backend.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

constexpr uint64_t memories[] = {0, 40 * KiB, 300 * KiB, 64 * MiB};

// Pushes and reads in random order on one thread; both ends leave the same waker behind.
void interleave(external_queue& queue, const row_type& type, std::vector<batch> input, std::mt19937_64& random,
                std::vector<std::string>& out) {
  blocking_waker w;
  size_t next = 0;
  bool closed = false;
  auto push = [&] {
    if (next < input.size()) {
      if (queue.push(input[next], w).is_blocked()) return outcome::blocked();
      ++next;
      return outcome::ready();
    }
    if (closed) return outcome::done();
    queue.close();
    closed = true;
    return outcome::ready();
  };
  auto read = [&] {
    const batch* front = nullptr;
    const outcome s = queue.front(front, w);
    if (!s.is_ready()) return s;
    for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
    queue.pop();
    return s;
  };
  const uint64_t push_share = 1 + random() % 9;
  for (;;) {
    const bool push_first = random() % 10 < push_share;
    if (push_first && push().is_ready()) continue;
    const outcome s = read();
    if (s.is_done()) return;
    if (s.is_ready()) continue;
    if (!push_first && push().is_ready()) continue;
    w.wait();  // both are blocked, or one is and the other has nothing to do
  }
}

TEST(external_queue, keeps_the_order_under_random_interleavings) {
  std::mt19937_64 random(1);
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      for (const uint64_t memory : memories) {
        for (int round = 0; round < 3; ++round) {
          scratch_rig rig({.on_disk = on_disk});
          const std::vector<batch> input = some_rows(rig.pool(), kind, 250'000, random());
          external_queue queue(kind.type, rig.blocks(), memory);
          std::vector<std::string> out;
          interleave(queue, kind.type, input, random, out);
          ASSERT_EQ(out, record::contents_of(kind.type, input)) << to_string(kind.type) << ", memory " << memory;
        }
      }
    }
  }
}

TEST(external_queue, keeps_the_order_between_two_threads) {
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      for (const uint64_t memory : memories) {
        scratch_rig rig({.on_disk = on_disk});
        const std::vector<batch> input = some_rows(rig.pool(), kind, 600'000, memory + 7);
        external_queue queue(kind.type, rig.blocks(), memory);
        std::thread producer([&] { push_all(queue, input); });
        const std::vector<std::string> out = read_all(queue, kind.type);
        producer.join();
        ASSERT_EQ(out, record::contents_of(kind.type, input)) << to_string(kind.type) << ", memory " << memory;
      }
    }
  }
}

// A queue that waits for its reader holds the rows that it may keep, and no buffers.
TEST(external_queue, settles) {
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      for (const uint64_t kept : {uint64_t{0}, 100 * KiB, 10 * MiB}) {
        scratch_rig rig({.on_disk = on_disk});
        const std::vector<batch> input = some_rows(rig.pool(), kind, 700'000, kept + 3);
        external_queue queue(kind.type, rig.blocks(), 2 * MiB, kept);
        push_all(queue, input);
        EXPECT_TRUE(kept == 10 * MiB || queue.memory_bytes() > kept);  // what is being written
        blocking_waker w;
        while (queue.settle(w).is_blocked()) w.wait();
        EXPECT_LE(queue.memory_bytes(), kept);
        EXPECT_EQ(queue.settle(w), outcome::done());
        EXPECT_EQ(queue.spilled_bytes() == 0, kept == 10 * MiB);
        ASSERT_EQ(read_all(queue, kind.type), record::contents_of(kind.type, input)) << kept;
      }
    }
  }
}

TEST(external_queue, everything_first_in_then_out) {
  for (const row_kind& kind : row_kinds()) {
    scratch_rig rig({.on_disk = true});
    const std::vector<batch> input = some_rows(rig.pool(), kind, 1'000'000, 3);
    external_queue queue(kind.type, rig.blocks(), 100 * KiB);
    push_all(queue, input);
    EXPECT_GT(queue.spilled_bytes(), 500'000U);
    EXPECT_EQ(read_all(queue, kind.type), record::contents_of(kind.type, input));
    EXPECT_EQ(rig.blocks().used_bytes(), 0U) << "blocks are freed as they are read";
  }
}

TEST(external_queue, what_fits_stays_in_memory) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 500'000, 3);
  external_queue queue(type, rig.blocks(), 16 * MiB);
  push_all(queue, input);
  EXPECT_EQ(queue.spilled_bytes(), 0U);
  EXPECT_EQ(rig.blocks().peak_used_bytes(), 0U);
  EXPECT_EQ(read_all(queue, type), record::contents_of(type, input));
}

TEST(external_queue, a_slice_keeps_no_whole_batch) {
  scratch_rig rig;
  const auto try_slices = [&](const row_type& type, size_t part) {
    external_queue queue(type, rig.blocks(), 16 * MiB);
    std::vector<batch> slices;
    std::vector<std::weak_ptr<const void>> owners;
    for (batch& b : some_rows(rig.pool(), {type, 20}, 100'000, 3)) {
      slices.push_back(b.slice(b.num_rows / 2, std::max<size_t>(b.num_rows / part, 1)));
      owners.push_back(b.owner);
    }
    const std::vector<std::string> expected = record::contents_of(type, slices);
    push_all(queue, std::move(slices));
    slices.clear();
    for (const auto& owner : owners) EXPECT_TRUE(owner.expired());
    EXPECT_EQ(read_all(queue, type), expected);
  };
  for (const size_t part : {30'000, 2}) {
    try_slices(record::type_of({{"k", "u64"}}), part);
    try_slices(record::type_of({{"k", "u64"}, {"s", "string"}, {"t", "string"}}), part);
  }
}

TEST(external_queue, goes_back_to_memory_once_scratch_is_read) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 1'000'000, 3);
  external_queue queue(type, rig.blocks(), 500'000);
  blocking_waker w;
  std::vector<std::string> out;
  auto push = [&](batch b) {
    while (queue.push(b, w).is_blocked()) w.wait();
  };
  for (const batch& b : input) push(b);
  EXPECT_GT(queue.spilled_bytes(), 0U);
  const size_t num_rows = record::contents_of(type, input).size();
  while (out.size() < num_rows) read_one(queue, type, out);
  const batch* front = nullptr;
  counting_waker asleep;
  EXPECT_EQ(queue.front(front, asleep), outcome::blocked(blocked_on::input));  // empty, not closed
  const uint64_t spilled = queue.spilled_bytes();
  push(input[0]);
  EXPECT_EQ(asleep.num_wakes(), 1);
  EXPECT_EQ(queue.spilled_bytes(), spilled);
  queue.close();
  out = read_all(queue, type);
  EXPECT_EQ(out, record::contents_of(type, {input[0]}));
}

TEST(external_queue, an_empty_one_ends_at_once) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  external_queue queue(type, rig.blocks(), 0);
  counting_waker w;
  const batch* front = nullptr;
  EXPECT_EQ(queue.front(front, w), outcome::blocked(blocked_on::input));
  EXPECT_EQ(w.num_wakes(), 0);
  queue.close();
  EXPECT_EQ(w.num_wakes(), 1);
  EXPECT_EQ(queue.front(front, w), outcome::done());
  EXPECT_EQ(queue.front(front, w), outcome::done());
}

// The reader has few buffers, so a consumer that keeps all batches must get copies.
TEST(external_queue, a_consumer_may_keep_every_batch) {
  for (const row_kind& kind : row_kinds()) {
    scratch_rig rig({.on_disk = true});
    const std::vector<batch> input = some_rows(rig.pool(), kind, 1'000'000, 5);
    auto queue = std::make_unique<external_queue>(kind.type, rig.blocks(), 0);
    push_all(*queue, input);
    std::vector<batch> kept;
    blocking_waker w;
    const batch* front = nullptr;
    for (outcome s; !(s = queue->front(front, w)).is_done();) {
      if (s.is_blocked()) {
        w.wait();
        continue;
      }
      kept.push_back(*front);
      queue->pop();
    }
    queue.reset();
    EXPECT_GT(kept.size(), 20U);
    EXPECT_EQ(record::contents_of(kind.type, kept), record::contents_of(kind.type, input));
  }
}

// Both ends wait for the same write: a wake for one of them only would leave the other asleep for ever.
TEST(external_queue, a_completed_write_wakes_both_ends) {
  const row_type type = record::type_of({{"k", "u64"}});
  auto held = std::make_unique<held_backend>();
  held_backend& backend = *held;
  scratch_rig rig({}, std::move(held));
  std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 100'000, 3);
  external_queue queue(type, rig.blocks(), 0);
  counting_waker producer;
  counting_waker consumer;
  size_t pushed = 0;
  while (queue.push(input[pushed], producer).is_ready()) ASSERT_LT(++pushed, input.size());
  EXPECT_EQ(producer.num_wakes(), 0);
  const batch* front = nullptr;
  ASSERT_EQ(queue.front(front, consumer), outcome::blocked());
  EXPECT_EQ(producer.num_wakes(), 0);
  backend.finish(backend.num_waiting());
  EXPECT_GT(producer.num_wakes(), 0);
  EXPECT_GT(consumer.num_wakes(), 0);
  backend.hold = false;
  while (backend.num_waiting() > 0) backend.finish(1);
}

// The producer ends the segment that the consumer began to end: it need not wait for the consumer to come again.
TEST(external_queue, the_producer_goes_on_without_the_consumer) {
  const row_type type = record::type_of({{"k", "u64"}});
  auto held = std::make_unique<held_backend>();
  held_backend& backend = *held;
  scratch_rig rig({}, std::move(held));
  std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 100'000, 3);
  external_queue queue(type, rig.blocks(), 0);
  counting_waker w;
  size_t pushed = 0;
  while (queue.push(input[pushed], w).is_ready()) ASSERT_LT(++pushed, input.size());
  const batch* front = nullptr;
  ASSERT_EQ(queue.front(front, w), outcome::blocked());
  backend.hold = false;
  backend.finish(backend.num_waiting());
  for (; pushed < input.size(); ++pushed) ASSERT_EQ(queue.push(input[pushed], w), outcome::ready());
  queue.close();
  EXPECT_GT(read_all(queue, type).size(), 10'000U);
}

TEST(external_queue, forgets_its_wakers) {
  const row_type type = record::type_of({{"k", "u64"}});
  auto held = std::make_unique<held_backend>();
  held_backend& backend = *held;
  scratch_rig rig({}, std::move(held));
  std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 100'000, 3);
  external_queue queue(type, rig.blocks(), 0);
  {
    counting_waker gone;
    size_t pushed = 0;
    while (queue.push(input[pushed], gone).is_ready()) ++pushed;
    const batch* front = nullptr;
    ASSERT_EQ(queue.front(front, gone), outcome::blocked());
    queue.forget_wakers();
    backend.finish(backend.num_waiting());
    EXPECT_EQ(gone.num_wakes(), 0);
  }
  backend.hold = false;
}

}  // namespace
}  // namespace flowrun::container
