// Ends that come early, full scratch and failing disks: errors reach the caller, and no block stays behind.
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/container/pq_rig.h"
#include "tests/support/error_of.h"
#include "tests/support/sanitized.h"

namespace flowrun::container {
namespace {

const priority_queue_settings small = {.memory_bytes = 0, .force_spill = true};

template <class Rig>
void push_and_pop(Rig& rig, int num_items) {
  std::mt19937_64 random(1);
  for (int i = 0; i < num_items; ++i) rig.queue().push(random());
  for (int i = 0; i < num_items; ++i) rig.queue().pop();
}

TEST(priority_queue_failure, may_be_destroyed_in_any_state) {
  std::mt19937_64 random(4);
  for (int round = 0; round < (sanitized ? 30 : 100); ++round) {
    pq_rig<uint64_t> rig(small, {.on_disk = round % 2 == 0});
    for (uint64_t i = random() % 20'000; i > 0; --i) rig.queue().push(random());
    for (uint64_t i = std::min(random() % 9'000, rig.queue().num_items()); i > 0; --i) rig.queue().pop();
    for (uint64_t i = random() % 5'000; i > 0; --i) rig.queue().push(random());
  }
}

TEST(priority_queue_failure, full_scratch_is_an_error) {
  pq_rig<uint64_t> rig(small, {.limit = 128 * KiB});
  EXPECT_EQ(error_of([&] { push_and_pop(rig, 300'000); }).kind(), error_kind::resources);
}

// Scratch that is full for one run may have room for the next one, which must not take the failed one's place.
TEST(priority_queue_failure, nothing_is_written_after_a_run_that_found_no_room) {
  scratch_rig rig({.num_disks = 1, .limit = tiny_block});
  block::block_manager& blocks = rig.blocks();
  std::deque<std::function<void()>> tasks;
  const item_packer<uint64_t> packer(sizeof(uint64_t));
  {
    queue_input<uint64_t> input({.blocks = &blocks,
                                 .post = [&](std::function<void()> task) { tasks.push_back(std::move(task)); },
                                 .buffer_items = 2,
                                 .block_bytes = tiny_block},
                                packer);
    // Makes room as soon as the first one has failed.
    struct making_room final : waker {
      making_room(block::block_manager& b, block::block_id i) : blocks(b), in_the_way(i) {}
      void wake() noexcept override { blocks.free(std::exchange(in_the_way, {})); }
      block::block_manager& blocks;
      block::block_id in_the_way;
    } failed(blocks, blocks.allocate(0, tiny_block));
    for (const uint64_t item : {7, 8}) {
      input.filling()[0] = item;
      ASSERT_EQ(input.hand_over(1, item, true, failed), outcome::ready());
    }
    input.wake_when_finished(failed);
    for (; !tasks.empty(); tasks.pop_front()) tasks.front()();
    EXPECT_EQ(failed.in_the_way.num_bytes, 0U);
    EXPECT_EQ(blocks.used_bytes(), 0U);
    queue_input<uint64_t>::finished finished;
    EXPECT_EQ(error_of([&] { input.take_finished(finished); }).kind(), error_kind::resources);
  }
}

TEST(priority_queue_failure, a_failing_read_is_an_error) {
  for (const uint64_t nth : {1, 7, 40}) {
    std::vector<io::injected_fault> faults;
    faults.push_back({.way = io::direction::read, .nth = nth, .num_requests = 1000, .value = EIO});
    pq_rig<uint64_t> rig(small, {}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
    EXPECT_EQ(error_of([&] { push_and_pop(rig, 50'000); }).kind(), error_kind::io);
  }
}

TEST(priority_queue_failure, a_damaged_block_is_an_error) {
  for (const auto what : {io::injected_fault::effect::flip_bit, io::injected_fault::effect::shorten}) {
    std::vector<io::injected_fault> faults;
    faults.push_back({.way = io::direction::read, .nth = 5, .num_requests = 1000, .what = what, .value = 1003});
    pq_rig<uint64_t> rig(small, {}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
    const error e = error_of([&] { push_and_pop(rig, 50'000); });
    EXPECT_EQ(e.kind(), error_kind::io);
    EXPECT_NE(std::string(e.what()).find("scratch block damaged"), std::string::npos) << e.what();
  }
}

TEST(priority_queue_failure, a_failing_write_goes_to_another_disk) {
  std::vector<io::injected_fault> faults;
  faults.push_back({.way = io::direction::write, .nth = 3, .num_requests = 1, .value = EIO});
  pq_rig<uint64_t> rig(small, {}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i) rig.push(random());
  EXPECT_TRUE(rig.drain());
}

}  // namespace
}  // namespace flowrun::container
