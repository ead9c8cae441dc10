// Nothing is allocated per transfer: the number of allocations does not depend on the number of blocks.
#include <gtest/gtest.h>

#include <array>

#include "engine/block/block_prefetcher.h"
#include "engine/block/buffered_writer.h"
#include "tests/engine/block/recognisable_blocks.h"
#include "tests/support/scarce_memory.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {
namespace {

class hot_path : public ::testing::TestWithParam<io::backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == io::backend_kind::io_uring && !io::io_uring_refusal().empty())
      GTEST_SKIP() << io::io_uring_refusal();
    backend_ = io::make_backend(GetParam());
  }
  // The thread backend starts a thread when it can use one more.
  static uint64_t for_threads() { return GetParam() == io::backend_kind::threads ? 40 : 0; }

  const temporary_directory where_;
  std::unique_ptr<io::backend> backend_;
};

TEST_P(hot_path, reading_allocates_nothing_per_block) {
  block_manager manager(directory_options(*backend_, where_, 2));
  const std::vector<block_id> ids = write_stream(manager, 1, 400);
  std::vector<fetch> sequence;
  for (uint64_t i = 0; i < ids.size(); ++i) sequence.push_back({ids[i], 1, i});
  block_prefetcher reader(manager, sequence, 12);
  prefetched_block block;
  std::array<std::shared_ptr<const void>, 3> held;  // as a merge does
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(reader.next(block));
  const uint64_t before = num_allocations();
  for (size_t i = 0; i < 250; ++i) {
    ASSERT_TRUE(reader.next(block));
    held[i % held.size()] = block.owner();
  }
  EXPECT_LE(num_allocations() - before, for_threads());
}

TEST_P(hot_path, writing_allocates_only_where_the_results_are_kept) {
  manager_options options = directory_options(*backend_, where_, 2);
  options.reserve_step = 16 * MiB;
  block_manager manager(options);
  buffered_writer writer(manager, tiny_block, 6);
  const auto write = [&](uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; ++i) {
      std::byte* buffer = writer.acquire();
      writer.submit(buffer, static_cast<unsigned>(i % 2), {.stream = 1, .index = i});
    }
  };
  write(0, 100);
  const uint64_t before = num_allocations();
  write(100, 900);
  // The vector of results doubles: 128, 256, 512, 1024.
  EXPECT_LE(num_allocations() - before, 4 + for_threads());
}

std::string label(const ::testing::TestParamInfo<io::backend_kind>& of) {
  return of.param == io::backend_kind::io_uring  ? "io_uring"
         : of.param == io::backend_kind::threads ? "threads"
                                                 : "memory";
}

INSTANTIATE_TEST_SUITE_P(backends, hot_path,
                         ::testing::Values(io::backend_kind::io_uring, io::backend_kind::threads,
                                           io::backend_kind::memory),
                         label);

}  // namespace
}  // namespace flowrun::block
