// Write-behind: round trips are in block_prefetcher_test.cc; here waiting, failing and full disks.
#include "engine/block/buffered_writer.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "engine/base/buffer.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/block/recognisable_blocks.h"
#include "tests/support/error_of.h"
#include "tests/support/held_backend.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using effect = io::injected_fault::effect;

std::unique_ptr<io::faulty_backend> faulty(std::vector<io::injected_fault> faults) {
  return std::make_unique<io::faulty_backend>(io::make_backend(io::backend_kind::memory), std::move(faults));
}

// Reads a block back and proves that it is block `index` of `stream`.
void expect_on_disk(block_manager& manager, block_id id, uint64_t stream, uint64_t index) {
  aligned_buffer memory(id.num_bytes);
  io::request request;
  manager.prepare(request, id, io::direction::read, memory.data());
  manager.backend().submit(request);
  request.wait();
  ASSERT_EQ(request.take_result(), id.num_bytes);
  verify(memory.data(), id.num_bytes, {stream, index, 0, manager.disk_path(id.disk), id.offset});
  EXPECT_TRUE(has_payload(memory.data(), id.num_bytes, stream, index));
}

TEST(buffered_writer, a_caller_without_a_buffer_is_woken) {
  held_backend backend;
  block_manager manager(memory_options(backend, 1));
  buffered_writer writer(manager, tiny_block, 2);
  EXPECT_EQ(writer.payload_bytes(), tiny_block - 64);
  blocking_waker waker;
  for (uint64_t i = 0; i < 2; ++i) {
    std::byte* buffer = writer.try_acquire(nullptr);
    ASSERT_NE(buffer, nullptr);
    fill_payload(buffer, tiny_block, 1, i);
    writer.submit(buffer, 0, {.stream = 1, .index = i});
  }
  EXPECT_EQ(writer.try_acquire(&waker), nullptr);
  EXPECT_EQ(writer.try_flush(&waker), outcome::blocked());
  backend.finish(1);
  waker.wait();
  std::byte* buffer = writer.try_acquire(nullptr);
  ASSERT_NE(buffer, nullptr);
  writer.release(buffer);
  EXPECT_EQ(writer.try_flush(&waker), outcome::blocked());
  backend.finish(1);
  waker.wait();
  EXPECT_EQ(writer.try_flush(nullptr), outcome::done());
  for (uint64_t i = 0; i < 2; ++i) {
    backend.hold = false;
    expect_on_disk(manager, writer.result(i), 1, i);
  }
}

TEST(buffered_writer, a_write_error_surfaces_at_acquire_and_flush) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 2, .value = EIO}});
  block_manager manager(memory_options(*backend, 1));
  const error e = error_of([&] { write_stream(manager, 1, 10, 2); });
  EXPECT_EQ(e.kind(), error_kind::io);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("disk0"), HasSubstr("offset 4096"), HasSubstr("Input/output error")));

  const auto second = faulty({{.way = io::direction::write, .nth = 1, .value = EIO}});
  block_manager other(memory_options(*second, 1));
  buffered_writer writer(other, tiny_block, 2);
  writer.submit(writer.acquire(), 0, {});
  EXPECT_THROW(writer.flush(), error);
  EXPECT_THROW(writer.acquire(), error);
  EXPECT_THROW((void)writer.try_flush(nullptr), error);
  other.free(writer.result(0));  // the block still belongs to the caller
  EXPECT_EQ(other.used_bytes(), 0u);
}

TEST(buffered_writer, a_short_write_is_an_error) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 1, .what = effect::shorten, .value = 512}});
  block_manager manager(memory_options(*backend, 1));
  EXPECT_THAT(error_of([&] { write_stream(manager, 1, 1); }).what(), HasSubstr("only 512 bytes were written"));
}

TEST(buffered_writer, a_full_disk_sends_the_block_to_another) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 3, .num_requests = 2, .value = ENOSPC}});
  manager_options options = memory_options(*backend, 3);
  options.strategy = allocation_strategy::striping;
  block_manager manager(options);
  const auto ids = write_stream(manager, 7, 12);
  for (uint64_t i = 0; i < 12; ++i) expect_on_disk(manager, ids[i], 7, i);
  // The third block was refused by disk 2, then by disk 0: those two grow no more, what was there stays readable.
  EXPECT_EQ(ids[2].disk, 1u);
  const auto usage = manager.usage();
  EXPECT_EQ(usage[2].used, 0u);
  EXPECT_LE(usage[0].used, 2u * tiny_block);
  EXPECT_EQ(usage[0].used + usage[1].used, 12u * tiny_block);
  for (const block_id& id : ids) manager.free(id);
  EXPECT_EQ(manager.used_bytes(), 0u);
}

TEST(buffered_writer, all_disks_full_tells_cause_and_disks) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 4, .num_requests = 1000, .value = ENOSPC}});
  block_manager manager(memory_options(*backend, 2));
  const error e = error_of([&] { write_stream(manager, 7, 50); });
  EXPECT_EQ(e.kind(), error_kind::resources);
  EXPECT_THAT(e.what(), HasSubstr("No space left on device"));
  EXPECT_FALSE(e.hint().empty());
}

TEST(buffered_writer, no_space_at_submit_leaves_the_buffer_free) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 1, tiny_block));
  buffered_writer writer(manager, tiny_block, 2);
  writer.submit(writer.acquire(), 0, {.stream = 1});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(error_of([&] { writer.submit(writer.acquire(), 0, {.stream = 1}); }).kind(), error_kind::resources);
  }
  writer.flush();
  EXPECT_EQ(writer.num_submitted(), 1u);
  writer.forget_results();
  EXPECT_EQ(writer.num_submitted(), 0u);
}

TEST(buffered_writer, results_are_forgotten_from_the_front) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 1));
  buffered_writer writer(manager, tiny_block, 3);
  std::vector<block_id> ids;
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(writer.submit(writer.acquire(), 0, {.stream = 1, .index = i}), i);
    while (ids.size() < writer.num_written()) ids.push_back(writer.result(ids.size()));
    writer.forget_results_below(ids.size());
  }
  writer.flush();
  EXPECT_EQ(writer.num_submitted(), 20u);
  EXPECT_EQ(writer.num_written(), 20u);
  while (ids.size() < 20) ids.push_back(writer.result(ids.size()));
  EXPECT_EQ(error_of([&] { writer.forget_results_below(21); }).kind(), error_kind::internal);
  writer.forget_results_below(20);
  EXPECT_EQ(error_of([&] { writer.result(19); }).kind(), error_kind::internal);
  for (const block_id& id : ids) manager.free(id);
  EXPECT_EQ(manager.used_bytes(), 0u);
}

// Blocks of 1 to 5 pages in buffers of 5.
std::vector<block_id> write_short_blocks(block_manager& manager, uint64_t num_blocks, unsigned bunch_blocks) {
  buffered_writer writer(manager, 5 * io_alignment, 3, bunch_blocks);
  for (uint64_t i = 0; i < num_blocks; ++i) {
    const auto num_bytes = static_cast<uint32_t>((1 + i * 7 % 5) * io_alignment);
    std::byte* buffer = writer.acquire();
    fill_payload(buffer, num_bytes, 7, i);
    writer.submit(buffer, static_cast<unsigned>(i % manager.num_disks()), {.stream = 7, .index = i}, num_bytes);
  }
  writer.flush();
  std::vector<block_id> ids;
  for (uint64_t i = 0; i < num_blocks; ++i) ids.push_back(writer.result(i));
  return ids;
}

TEST(buffered_writer, shorter_blocks_take_no_more_space_than_they_need) {
  for (const unsigned bunch_blocks : {1U, 4U}) {
    const auto backend = io::make_backend(io::backend_kind::memory);
    block_manager manager(memory_options(*backend, 2));
    const auto ids = write_short_blocks(manager, 100, bunch_blocks);
    uint64_t num_bytes = 0;
    std::vector<uint64_t> end(2, 0);
    for (uint64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(ids[i].num_bytes, (1 + i * 7 % 5) * io_alignment);
      EXPECT_EQ(ids[i].offset, end[ids[i].disk]) << "a gap before block " << i;
      end[ids[i].disk] += ids[i].num_bytes;
      num_bytes += ids[i].num_bytes;
      expect_on_disk(manager, ids[i], 7, i);
    }
    EXPECT_EQ(manager.used_bytes(), num_bytes);
    const auto usage = manager.usage();
    EXPECT_EQ(usage[0].transfers.writes.num_bytes + usage[1].transfers.writes.num_bytes, num_bytes);
    for (const block_id& id : ids) manager.free(id);
    EXPECT_EQ(manager.used_bytes(), 0u);
  }
}

TEST(buffered_writer, shorter_blocks_of_a_full_disk_go_to_another) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 4, .num_requests = 2, .value = ENOSPC}});
  block_manager manager(memory_options(*backend, 3));
  const auto ids = write_short_blocks(manager, 60, 4);
  uint64_t num_bytes = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    EXPECT_EQ(ids[i].num_bytes, (1 + i * 7 % 5) * io_alignment);
    num_bytes += ids[i].num_bytes;
    expect_on_disk(manager, ids[i], 7, i);
  }
  EXPECT_EQ(manager.used_bytes(), num_bytes);
  for (const block_id& id : ids) manager.free(id);
  EXPECT_EQ(manager.used_bytes(), 0u);
}

TEST(buffered_writer, shorter_blocks_fill_a_limited_disk_to_the_last_page) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 1, 10 * io_alignment));
  buffered_writer writer(manager, 4 * io_alignment, 2, 4);
  const auto submit = [&](uint32_t pages) { writer.submit(writer.acquire(), 0, {}, pages * io_alignment); };
  submit(4);
  submit(4);
  EXPECT_EQ(error_of([&] { submit(3); }).kind(), error_kind::resources);
  submit(1);
  submit(1);
  EXPECT_EQ(error_of([&] { submit(1); }).kind(), error_kind::resources);
  writer.flush();
  EXPECT_EQ(manager.used_bytes(), 10 * io_alignment);
}

TEST(buffered_writer, dies_only_after_its_writes) {
  const auto backend = io::make_backend(io::backend_kind::threads);
  temporary_directory where;
  block_manager manager(directory_options(*backend, where, 2));
  for (int round = 0; round < 50; ++round) {
    buffered_writer writer(manager, tiny_block, 4);
    for (uint64_t i = 0; i < 4; ++i) writer.submit(writer.acquire(), static_cast<unsigned>(i % 2), {});
  }
  const auto usage = manager.usage();
  EXPECT_EQ(usage[0].transfers.writes.num_operations + usage[1].transfers.writes.num_operations, 200u);
}

}  // namespace
}  // namespace flowrun::block
