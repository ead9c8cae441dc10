// Ends that come early, full scratch and failing disks: errors reach both ends, and no block stays behind.
#include <gtest/gtest.h>

#include <cerrno>
#include <random>
#include <thread>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/container/queue_contents.h"
#include "tests/engine/container/row_kinds.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

const row_type& number_type() {
  static const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  return type;
}

std::vector<batch> numbers(scratch_rig& rig, size_t num_rows) {
  return random_batches(rig.pool(), number_type(), 0, num_rows * number_type().row_bytes(), 1);
}

TEST(external_queue_failure, may_be_destroyed_in_any_state) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 200; ++round) {
    scratch_rig rig({.on_disk = round % 2 == 0});
    std::vector<batch> input = numbers(rig, 5'000);
    auto queue = std::make_unique<external_queue>(number_type(), rig.blocks(), round % 3 == 0 ? 100 * KiB : 0);
    counting_waker* w = nullptr;
    auto sleeper = std::make_unique<counting_waker>();
    w = sleeper.get();
    size_t next = 0;
    std::optional<batch> held;
    for (uint64_t steps = random() % 200; steps > 0; --steps) {
      if (random() % 5 < 3 && next < input.size()) {
        if (queue->push(input[next], *w).is_ready()) ++next;
      } else {
        const batch* front = nullptr;
        if (!queue->front(front, *w).is_ready()) continue;
        held = *front;
        if (random() % 4 > 0) queue->pop();
      }
    }
    if (round % 5 == 0) queue->close();
    queue->forget_wakers();
    sleeper.reset();
    queue.reset();
    if (held) {
      EXPECT_GT(held->num_rows, 0U);
    }
  }
}

TEST(external_queue_failure, full_scratch_reaches_both_ends) {
  scratch_rig rig({.limit = 128 * KiB});
  std::vector<batch> input = numbers(rig, 100'000);
  external_queue queue(number_type(), rig.blocks(), 0);
  EXPECT_EQ(error_of([&] { push_all(queue, input); }).kind(), error_kind::resources);
  counting_waker w;
  const batch* front = nullptr;
  EXPECT_EQ(error_of([&] { (void)queue.front(front, w); }).kind(), error_kind::resources);
  EXPECT_EQ(error_of([&] { (void)queue.push(input.back(), w); }).kind(), error_kind::resources);
}

TEST(external_queue_failure, a_consumer_asleep_hears_of_the_producers_error) {
  scratch_rig rig({.limit = 64 * KiB});
  std::vector<batch> input = numbers(rig, 100'000);
  external_queue queue(number_type(), rig.blocks(), 0);
  counting_waker consumer;
  const batch* front = nullptr;
  ASSERT_EQ(queue.front(front, consumer), outcome::blocked(blocked_on::input));
  std::thread producer([&] { EXPECT_THROW(push_all(queue, input), error); });
  producer.join();
  EXPECT_GT(consumer.num_wakes(), 0);
  EXPECT_THROW((void)queue.front(front, consumer), error);
}

// (A single write that fails is made good on the other disk: so all fail from then on.)
void expect_failure_of(io::direction way, uint64_t nth, io::injected_fault::effect what, uint64_t value) {
  SCOPED_TRACE(testing::Message() << (way == io::direction::read ? "read " : "write ") << nth);
  const bool all = way == io::direction::write && what == io::injected_fault::effect::fail;
  const std::vector<io::injected_fault> faults{{way, nth, all ? UINT64_MAX : 1, what, value}};
  scratch_rig rig({}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
  std::vector<batch> input = numbers(rig, 20'000);
  external_queue queue(number_type(), rig.blocks(), 0);
  const error problem = error_of([&] {
    push_all(queue, input);
    read_all(queue, number_type());
  });
  EXPECT_EQ(problem.kind(), error_kind::io);
  EXPECT_NE(std::string(problem.what()).find("disk"), std::string::npos) << problem.what();
  counting_waker w;
  EXPECT_EQ(error_of([&] { (void)queue.push(input.back(), w); }).kind(), error_kind::io);
}

TEST(external_queue_failure, failing_disks_are_reported) {
  for (const uint64_t nth : {1U, 2U, 3U, 10U, 40U}) {
    expect_failure_of(io::direction::write, nth, io::injected_fault::effect::fail, EIO);
    expect_failure_of(io::direction::read, nth, io::injected_fault::effect::fail, EIO);
    expect_failure_of(io::direction::read, nth, io::injected_fault::effect::flip_bit, 1000 * nth);
    expect_failure_of(io::direction::write, nth, io::injected_fault::effect::flip_bit, 999 * nth);
  }
}

TEST(external_queue_failure, a_row_beyond_any_block_is_the_datas_fault) {
  const row_type type = record::type_of({{"s", "string"}});
  scratch_rig rig;
  external_queue queue(type, rig.blocks(), 0);
  const record::string_ref endless{0, 3'000'000'000U};
  std::byte row[sizeof endless];
  std::memcpy(row, &endless, sizeof endless);
  batch b;
  b.rows = row;
  b.num_rows = 1;
  b.row_bytes = type.row_bytes();
  b.heap_bytes = endless.length;
  counting_waker w;
  EXPECT_EQ(error_of([&] { (void)queue.push(b, w); }).kind(), error_kind::bad_data);
}

}  // namespace
}  // namespace flowrun::container
