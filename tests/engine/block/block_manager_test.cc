// The block manager: reuse, limits, several disks, full disks.
#include "engine/block/block_manager.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "engine/block/stream_disks.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class block_manager_test : public ::testing::Test {
 protected:
  std::unique_ptr<io::backend> backend_ = io::make_backend(io::backend_kind::memory);
};

TEST_F(block_manager_test, uses_freed_space_first_and_lowest_offset_first) {
  block_manager manager(memory_options(*backend_, 1));
  std::vector<block_id> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(manager.allocate(0, 4096));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ids[i], (block_id{0, 4096, uint64_t(i) * 4096}));
  EXPECT_EQ(manager.used_bytes(), 5u * 4096);
  manager.free(ids[3]);
  manager.free(ids[1]);
  manager.free(ids[2]);
  EXPECT_EQ(manager.used_bytes(), 2u * 4096);
  EXPECT_EQ(manager.allocate(0, 8192).offset, 4096u);  // joined space, another length
  EXPECT_EQ(manager.allocate(0, 8192).offset, 5u * 4096);
  EXPECT_EQ(manager.allocate(0, 4096).offset, 3u * 4096);
  EXPECT_EQ(manager.peak_used_bytes(), manager.used_bytes());
  EXPECT_EQ(manager.usage()[0].reserved, 7u * 4096);
  manager.free({});  // no block
}

TEST_F(block_manager_test, a_disk_at_its_limit_passes_blocks_on) {
  manager_options options = memory_options(*backend_, 3);
  options.disks[0].limit = 2 * 4096 + 100;  // room for two
  options.disks[1].limit = 4096;
  block_manager manager(options);
  std::vector<unsigned> disks;
  std::vector<block_id> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(manager.allocate(0, 4096));
    disks.push_back(ids.back().disk);
  }
  EXPECT_EQ(disks, (std::vector<unsigned>{0, 0, 1, 2, 2}));
  manager.free(ids[1]);
  EXPECT_EQ(manager.allocate(1, 4096).disk, 2u);
  EXPECT_EQ(manager.allocate(0, 4096), ids[1]);
}

TEST_F(block_manager_test, a_block_can_straddle_the_last_short_step) {
  manager_options options = memory_options(*backend_, 1, 3 * 4096);
  block_manager manager(options);
  manager.free(manager.allocate(0, 8192));
  EXPECT_EQ(manager.allocate(0, 3 * 4096).offset, 0u);
}

TEST_F(block_manager_test, all_full_names_each_disk_and_what_to_do) {
  manager_options options = memory_options(*backend_, 2, 8192);
  block_manager manager(options);
  for (int i = 0; i < 4; ++i) manager.allocate(0, 4096);
  const error e = error_of([&] { manager.allocate(1, 4096); });
  EXPECT_EQ(e.kind(), error_kind::resources);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("out of scratch space for a block of 4.00 KiB"),
                              HasSubstr("disk0: 8.00 KiB used of a limit of 8.00 KiB"),
                              HasSubstr("disk1: 8.00 KiB used of a limit of 8.00 KiB")));
  EXPECT_THAT(e.hint(), HasSubstr("raise the limits"));
  EXPECT_EQ(manager.used_bytes(), 4u * 4096);
}

TEST_F(block_manager_test, condemned_space_is_never_used_again) {
  block_manager manager(memory_options(*backend_, 2));
  const block_id a = manager.allocate(0, 4096), b = manager.allocate(0, 4096);
  manager.condemn(b, "no room");
  EXPECT_EQ(manager.used_bytes(), 4096u);
  EXPECT_EQ(manager.allocate(0, 4096), (block_id{1, 4096, 0}));  // disk 0 grows no more
  manager.free(a);
  EXPECT_EQ(manager.allocate(0, 4096), a);
  EXPECT_EQ(manager.allocate(0, 4096).disk, 1u);
}

TEST_F(block_manager_test, scratch_files_are_made_late_and_have_no_name) {
  temporary_directory where;
  manager_options options = directory_options(*backend_, where, 2);
  block_manager manager(options);
  EXPECT_TRUE(std::filesystem::is_empty(where.path()));
  const block_id id = manager.allocate(1, 4096);
  EXPECT_EQ(id.disk, 1u);
  EXPECT_FALSE(std::filesystem::exists(where / "disk0"));
  EXPECT_TRUE(std::filesystem::is_empty(where / "disk1"));
  EXPECT_EQ(manager.usage()[1].reserved % options.reserve_step, 0u);
}

// Extending a file stops its transfers.
TEST_F(block_manager_test, long_files_grow_by_larger_steps) {
  temporary_directory where;
  manager_options options = directory_options(*backend_, where, 1);
  options.reserve_step = 64 * KiB;
  block_manager manager(options);
  uint64_t reserved = 0;
  unsigned num_extended = 0;
  for (int i = 0; i < 1024; ++i) {
    manager.allocate(0, 64 * KiB);
    const uint64_t now = manager.usage()[0].reserved;
    if (now == reserved) continue;
    ++num_extended;
    EXPECT_LE(now - reserved, std::max(options.reserve_step, std::min(reserved / 2, 16 * options.reserve_step)));
    reserved = now;
  }
  EXPECT_LT(num_extended, 90U);  // 1024 by steps of one size
}

TEST_F(block_manager_test, a_scratch_directory_that_cant_be_made_is_named) {
  manager_options options = memory_options(*backend_, 1);
  options.in_memory = false;
  options.disks[0].path = "/dev/null/scratch";
  block_manager manager(options);
  const error e = error_of([&] { manager.allocate(0, 4096); });
  EXPECT_EQ(e.kind(), error_kind::output);
  EXPECT_THAT(e.what(), HasSubstr("/dev/null is not a directory"));
  EXPECT_EQ(manager.used_bytes(), 0u);
}

// The file size limit makes fallocate fail with EFBIG: every disk "full" at 1 MiB, with a real file.
TEST_F(block_manager_test, a_file_system_that_refuses_more_is_full) {
  temporary_directory where;
  manager_options options = directory_options(*backend_, where, 2);
  options.reserve_step = 512 * KiB + 64 * KiB;
  block_manager manager(options);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto signal_before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = MiB;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  std::vector<unsigned> num_blocks(2, 0);
  std::string message;
  try {
    for (int i = 0; i < 100; ++i) ++num_blocks[manager.allocate(0, 128 * KiB).disk];
  } catch (const error& e) {
    message = e.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, signal_before);
  // A whole step (4.5 blocks), then block by block up to 1 MiB, on either disk.
  EXPECT_GE(num_blocks[0], 7u);
  EXPECT_EQ(num_blocks[0], num_blocks[1]);
  EXPECT_THAT(message, AllOf(HasSubstr("out of scratch space"), HasSubstr(where / "disk0"), HasSubstr(where / "disk1"),
                             HasSubstr("free on its file system")));
}

TEST_F(block_manager_test, threads_never_get_the_same_space) {
  block_manager manager(memory_options(*backend_, 3));
  constexpr unsigned num_threads = 4;
  std::vector<std::vector<block_id>> kept(num_threads);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < num_threads; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned i = 0; i < 2000; ++i) {
          kept[t].push_back(manager.allocate(t + i, 4096 * (1 + i % 3)));
          if (i % 3 == 2) {
            manager.free(kept[t].front());
            kept[t].erase(kept[t].begin());
          }
        }
      });
    }
  }
  std::set<std::pair<uint32_t, uint64_t>> pages;
  uint64_t num_bytes = 0;
  for (const auto& ids : kept) {
    for (const block_id& id : ids) {
      num_bytes += id.num_bytes;
      for (uint64_t at = 0; at < id.num_bytes; at += 4096) {
        EXPECT_TRUE(pages.emplace(id.disk, id.offset + at).second);
      }
    }
  }
  EXPECT_EQ(manager.used_bytes(), num_bytes);
  uint64_t used = 0;
  for (const disk_usage& disk : manager.usage()) used += disk.used;
  EXPECT_EQ(used, num_bytes);
}

TEST_F(block_manager_test, streams_have_their_own_numbers_and_disks) {
  block_manager manager(memory_options(*backend_, 4));
  EXPECT_EQ(manager.next_stream_id(), 1u);
  EXPECT_EQ(manager.next_stream_id(), 2u);
  stream_disks mine(manager, 2);
  const disk_cycle same(allocation_strategy::randomised_cycling, 4, 1, 2);
  for (uint64_t j = 0; j < 80; ++j) EXPECT_EQ(mine.next(), same.disk_of(j));
}

TEST_F(block_manager_test, space_of_a_block_that_is_kept_is_used_again_only_once_it_was_let_go) {
  block_manager manager(memory_options(*backend_, 1));
  const block_id kept = manager.allocate(0, 4096);
  const block_id other = manager.allocate(0, 4096);
  manager.keep(kept);
  manager.free(kept);
  EXPECT_EQ(manager.used_bytes(), 2u * 4096);
  const block_id third = manager.allocate(0, 4096);
  EXPECT_EQ(third.offset, 2u * 4096);
  manager.let_go(kept);
  EXPECT_EQ(manager.used_bytes(), 2u * 4096);
  EXPECT_EQ(manager.allocate(0, 4096), kept);
  // Let go before it is freed: it is a block as any other.
  manager.keep(other);
  manager.let_go(other);
  manager.free(other);
  EXPECT_EQ(manager.allocate(0, 4096), other);
}

TEST_F(block_manager_test, another_process_finds_the_blocks_in_a_file_that_stays) {
  const temporary_directory where;
  const std::unique_ptr<io::backend> threads = io::make_backend(io::backend_kind::threads);
  manager_options options;
  options.disks = {{.path = where.path(), .kept_file = where.path() + "/blocks"}};
  options.backend = threads.get();
  options.reserve_step = 64 * KiB;
  std::vector<block_id> ids;
  {
    block_manager before(options);
    for (int i = 0; i < 3; ++i) ids.push_back(before.allocate(0, 8192));
    before.sync();
  }
  block_manager after(options);
  after.open_all();
  EXPECT_TRUE(after.restore(ids[1]));
  EXPECT_FALSE(after.restore(ids[1]));
  EXPECT_FALSE(after.restore({0, 8192, 1 << 30}));
  EXPECT_FALSE(after.restore({7, 8192, 0}));
  EXPECT_EQ(after.used_bytes(), 8192u);
  EXPECT_EQ(after.allocate(0, 8192), ids[0]);
  EXPECT_EQ(after.allocate(0, 8192), ids[2]);
}

}  // namespace
}  // namespace flowrun::block
