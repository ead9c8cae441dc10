// Disks that differ: in speed (shares of the blocks), in health (failing writes move on), in room (limits in all).
#include <gmock/gmock.h>

#include <array>
#include <cerrno>

#include "engine/block/buffered_writer.h"
#include "engine/block/disk_weights.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/block/recognisable_blocks.h"
#include "tests/support/error_of.h"
#include "tests/support/held_backend.h"
#include "tests/support/scratch_rig.h"

namespace flowrun::block {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using effect = io::injected_fault::effect;

const std::vector<bool> both = {true, true};
constexpr uint64_t second = 1'000'000'000;

TEST(disk_weights, given_ones_count_only_when_all_are_given) {
  const std::vector<disk_speed> measured = {{100 * MiB, second}, {25 * MiB, second}};
  EXPECT_THAT(disk_weights(std::vector{50.0, 200.0}, measured, both), ElementsAre(0.25, 1.0));
  EXPECT_THAT(disk_weights(std::vector{50.0, 0.0}, measured, both), ElementsAre(1.0, 0.25));
}

TEST(disk_weights, measured_ones_are_rounded_and_wait_for_enough_to_go_by) {
  const std::vector<double> unknown = {0, 0};
  const auto of = [&](uint64_t a, uint64_t b) {
    return disk_weights(unknown, std::vector<disk_speed>{{a, second}, {b, second}}, both);
  };
  EXPECT_THAT(of(100 * MiB, 81 * MiB), ElementsAre(1.0, 1.0));
  EXPECT_THAT(of(49 * MiB, 100 * MiB), ElementsAre(0.5, 1.0));
  EXPECT_THAT(of(1000 * MiB, 16 * MiB), ElementsAre(1.0, 1.0 / 16));
  EXPECT_THAT(of(100 * MiB, 15 * MiB), ElementsAre(1.0, 1.0));  // too little to judge
}

TEST(disk_weights, disks_that_take_nothing_get_nothing) {
  const std::vector<double> given = {1, 2};
  const std::vector<disk_speed> nothing(2);
  EXPECT_THAT(disk_weights(given, nothing, {true, false}), ElementsAre(1.0, 0.0));
  EXPECT_THAT(disk_weights(given, nothing, {false, false}), ElementsAre(1.0, 1.0));
}

TEST(unequal_disks, take_shares_by_weight) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  manager_options options = memory_options(*backend, 4);
  for (unsigned d = 0; d < 4; ++d) options.disks[d].weight = d < 2 ? 100 : 50;
  block_manager manager(options);
  std::vector<unsigned> num_blocks(4);
  for (const block_id& id : write_stream(manager, 1, 600)) ++num_blocks[id.disk];
  EXPECT_THAT(num_blocks, ElementsAre(200, 200, 100, 100));
}

TEST(unequal_disks, a_full_disk_leaves_the_cycle) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  manager_options options = memory_options(*backend, 3);
  options.disks[1].limit = 4 * tiny_block;
  block_manager manager(options);
  std::vector<unsigned> num_blocks(3);
  for (const block_id& id : write_stream(manager, 1, 304)) ++num_blocks[id.disk];
  EXPECT_EQ(num_blocks[1], 4u);
  EXPECT_LE(std::max(num_blocks[0], num_blocks[2]) - std::min(num_blocks[0], num_blocks[2]),
            stream_disks::refresh_blocks);  // its neighbour takes its share only until the next look
}

TEST(unequal_disks, a_failing_disk_hands_its_blocks_on_and_gets_no_more) {
  std::vector<std::string> warnings;
  // The third write fails: one disk is out, all is written.
  const auto backend = std::make_unique<io::faulty_backend>(
      io::make_backend(io::backend_kind::memory),
      std::vector<io::injected_fault>{{io::direction::write, 3, 1, effect::fail, EIO}});
  manager_options options = memory_options(*backend, 2);
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  block_manager manager(options);
  const std::vector<block_id> ids = write_stream(manager, 1, 40);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], AllOf(HasSubstr("can't write"), HasSubstr("Input/output error"), HasSubstr("take over")));
  const std::vector<double> weights = manager.weights();
  const auto failed = static_cast<unsigned>(weights[0] == 0 ? 0 : 1);
  EXPECT_EQ(weights[failed], 0);
  EXPECT_LE(std::count_if(ids.begin(), ids.end(), [&](const block_id& id) { return id.disk == failed; }), 3);
  for (const block_id& id : ids) {
    EXPECT_EQ(id.num_bytes, tiny_block);
    manager.free(id);
  }
  EXPECT_EQ(manager.used_bytes(), 0u);
}

TEST(unequal_disks, when_all_fail_the_error_names_disk_offset_and_cause) {
  const auto backend = std::make_unique<io::faulty_backend>(
      io::make_backend(io::backend_kind::memory),
      std::vector<io::injected_fault>{{io::direction::write, 1, 1000, effect::fail, ENODEV}});
  block_manager manager(memory_options(*backend, 2));
  const error e = error_of([&] { write_stream(manager, 1, 8); });
  EXPECT_EQ(e.kind(), error_kind::io);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("disk"), HasSubstr("offset"), HasSubstr("No such device")));
}

TEST(unequal_disks, a_limit_holds_for_all_together) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  manager_options options = memory_options(*backend, 3);
  options.limit = 10 * tiny_block;
  block_manager manager(options);
  std::vector<block_id> ids = write_stream(manager, 1, 10);
  EXPECT_EQ(manager.used_bytes(), 10 * tiny_block);
  const error e = error_of([&] { manager.allocate(0, tiny_block); });
  EXPECT_EQ(e.kind(), error_kind::resources);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("40.0 KiB"), HasSubstr("limit")));
  manager.free(ids[3]);
  EXPECT_EQ(manager.allocate(1, tiny_block).num_bytes, tiny_block);
}

TEST(bunches, lie_side_by_side_and_are_given_back) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 2));
  // Two writers in turn: without bunches their blocks would alternate.
  buffered_writer a(manager, tiny_block, 2, 4);
  buffered_writer b(manager, tiny_block, 2, 4);
  for (uint64_t i = 0; i < 16; ++i)
    for (buffered_writer* writer : {&a, &b}) {
      std::byte* buffer = writer->acquire();
      fill_payload(buffer, tiny_block, 1, i);
      writer->submit(buffer, static_cast<unsigned>(i % 2), {.stream = 1, .index = i});
    }
  a.flush();
  b.flush();
  for (const buffered_writer* writer : {&a, &b})
    for (uint64_t i = 0; i + 2 < 16; ++i) {
      const block_id now = writer->result(i), after = writer->result(i + 2);
      EXPECT_EQ(now.disk, after.disk);
      if (i / 2 % 4 != 3) {
        EXPECT_EQ(now.offset + tiny_block, after.offset) << i;
      }
    }
  EXPECT_EQ(manager.used_bytes(), 32 * tiny_block);
  EXPECT_EQ(manager.allocate(0, tiny_block, 3).num_blocks, 3u);
}

TEST(bunches, one_that_was_put_aside_is_used_before_giving_up) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 2, 8 * tiny_block));
  buffered_writer writer(manager, tiny_block, 2, 4);
  for (uint64_t i = 0; i < 16; ++i) {
    std::byte* buffer = writer.acquire();
    fill_payload(buffer, tiny_block, 1, i);
    writer.submit(buffer, i == 0 ? 1 : 0, {.stream = 1, .index = i});
  }
  writer.flush();
  EXPECT_EQ(manager.used_bytes(), 16 * tiny_block);
}

void transfer_twice(io::direction one_way, io::direction other_way) {
  held_backend backend;
  block_manager manager(memory_options(backend, 1));
  const block_id id = manager.allocate(0, tiny_block);
  aligned_buffer memory(tiny_block);
  io::request first;
  io::request again;
  manager.prepare(first, id, one_way, memory.data());
  manager.prepare(again, id, other_way, memory.data());
  io::request_queue admitted;
  first.disk->enter(first, admitted);
  again.disk->enter(again, admitted);
}

void free_in_flight() {
  held_backend backend;
  block_manager manager(memory_options(backend, 1));
  const block_id id = manager.allocate(0, tiny_block);
  aligned_buffer memory(tiny_block);
  io::request first;
  manager.prepare(first, id, io::direction::write, memory.data());
  io::request_queue admitted;
  first.disk->enter(first, admitted);
  manager.free(id);
}

TEST(blocks, being_written_have_no_other_transfer) {
  EXPECT_THROW(transfer_twice(io::direction::write, io::direction::read), error);
  EXPECT_THROW(transfer_twice(io::direction::read, io::direction::write), error);
  EXPECT_THROW(transfer_twice(io::direction::write, io::direction::write), error);
}

// Several readers of one vector: the block is in flight until the last of them has it.
TEST(blocks, may_be_read_by_several_at_once) {
  held_backend backend;
  block_manager manager(memory_options(backend, 1));
  const block_id id = manager.allocate(0, tiny_block);
  aligned_buffer memory(tiny_block);
  std::array<io::request, 3> reads;
  io::request_queue admitted;
  for (io::request& read : reads) {
    manager.prepare(read, id, io::direction::read, memory.data());
    read.disk->enter(read, admitted);
  }
  for (io::request& read : reads) {
    EXPECT_TRUE(read.disk->in_flight(id.offset));
    read.disk->leave(read, admitted);
  }
  EXPECT_FALSE(reads[0].disk->in_flight(id.offset));
  manager.free(id);
  EXPECT_EQ(manager.used_bytes(), 0U);
}

TEST(blocks, in_flight_are_never_freed) { EXPECT_DEATH(free_in_flight(), "in_flight"); }

}  // namespace
}  // namespace flowrun::block
