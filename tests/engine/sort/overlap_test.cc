// While the disks are busy with one half of the run buffer, the other fills and is sorted (Asynchronous sorting, figure
// 2): shown with writes that end, and tasks that run, when the test says so.

#include <gtest/gtest.h>

#include "engine/sort/run_creator_kinds.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/held_backend.h"

namespace flowrun::sort {
namespace {

struct kind {
  const char* name;
  bool stable;       // by index
  unsigned threads;  // more than one: a half of narrow rows is sorted in pieces
};

class overlap : public testing::TestWithParam<kind> {
 protected:
  overlap() {
    settings_ = sort_by(type_of({{"k", "u64"}}), columns({0}));
    settings_.stable = GetParam().stable;
    block::manager_options options = memory_options(backend_, 2);
    blocks_.emplace(std::move(options));
    resources_.blocks = &*blocks_;
    resources_.pool = &pool_;
    resources_.post = [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
    resources_.memory_bytes = 16 * MiB;
    resources_.creating = sizes::divide_creator({.memory_bytes = resources_.memory_bytes, .block_bytes = 64 * KiB},
                                                resources_.memory_bytes);
    resources_.threads = GetParam().threads;
    creator_ = make_run_creator(settings_, resources_);
    half_rows_ = resources_.creating.half_bytes / (settings_.narrow() ? 8 : 8 + 16);
    half_blocks_ = (half_rows_ + rows_per_block - 1) / rows_per_block;
  }
  ~overlap() override {
    backend_.hold = false;
    backend_.finish(backend_.num_waiting());
    run_tasks();
    creator_.reset();
    EXPECT_EQ(blocks_->used_bytes(), 0U);
  }

  // False when the creator would not take them all.
  bool push(uint64_t num_rows) {
    std::mt19937_64 random(num_pushed_ + 1);
    std::vector<uint64_t> values(num_rows);
    for (uint64_t& value : values) value = random() | 1;
    num_pushed_ += num_rows;
    for (const batch& b : numbers(pool_, values)) {
      prepared_rows prepared = creator_->prepare(b);
      if (creator_->push(prepared, waker_).is_blocked()) return false;
    }
    return true;
  }
  // Fills one half, and makes it known that it is full: rows that go by index are handed over when the next one comes.
  bool fill_half() { return push(half_rows_ - (settings_.narrow() || num_pushed_ == 0 ? 0 : 1)) && overflow(); }
  bool overflow() { return settings_.narrow() || push(1); }

  void run_tasks() {
    while (!tasks_.empty()) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  // Lets all writes end, one by one, and what they wake go on.
  void release_writes() {
    while (backend_.num_waiting() > 0) {
      backend_.finish(1);
      run_tasks();
    }
  }
  size_t num_writes() const { return backend_.offsets.size(); }

  static constexpr uint64_t rows_per_block = (64 * KiB - block::block_header_bytes) / 8;
  sort_settings settings_;
  held_backend backend_;
  record::batch_pool pool_;
  std::optional<block::block_manager> blocks_;
  sort_resources resources_;
  std::deque<std::function<void()>> tasks_;
  blocking_waker waker_;
  std::unique_ptr<run_creator> creator_;
  uint64_t num_pushed_ = 0;
  uint64_t half_rows_ = 0;
  uint64_t half_blocks_ = 0;
};

TEST_P(overlap, a_half_fills_and_is_sorted_while_the_other_is_written) {
  ASSERT_TRUE(fill_half());
  run_tasks();
  EXPECT_EQ(num_writes(), backend_.num_waiting());  // as many as there are buffers; none has ended
  EXPECT_LT(num_writes(), half_blocks_);
  ASSERT_GT(num_writes(), 0U);

  const bool all = fill_half();
  EXPECT_EQ(all, settings_.narrow());  // by index: the row that doesn't fit any more is blocked
  run_tasks();                         // sorts
  EXPECT_FALSE(push(1));               // no half is free

  // Without anybody pushing, the second half's writes follow those of the first.
  release_writes();
  EXPECT_EQ(num_writes(), 2 * half_blocks_);
}

TEST_P(overlap, the_sorting_was_done_before_the_writes_ended) {
  ASSERT_TRUE(fill_half());
  run_tasks();
  fill_half();
  // The same, but the tasks that sort the second half get no thread: all but the newest, which is the writer's.
  ASSERT_GE(tasks_.size(), 2U);
  std::deque<std::function<void()>> sorting = std::exchange(tasks_, {});
  tasks_.push_back(std::move(sorting.back()));
  sorting.pop_back();
  run_tasks();
  release_writes();
  EXPECT_EQ(num_writes(), half_blocks_);  // so it was they who sorted, not the writing
  tasks_ = std::move(sorting);
  run_tasks();
  release_writes();
  EXPECT_EQ(num_writes(), 2 * half_blocks_);
}

TEST_P(overlap, whoever_is_blocked_goes_on_when_a_half_is_free) {
  ASSERT_TRUE(fill_half());
  run_tasks();
  fill_half();
  run_tasks();
  ASSERT_FALSE(push(1));
  while (num_writes() < half_blocks_ + 1) {
    ASSERT_GT(backend_.num_waiting(), 0U);
    backend_.finish(1);
    run_tasks();
  }
  waker_.wait();  // was woken, or this would never end
  EXPECT_TRUE(push(1));
}

TEST_P(overlap, a_creator_may_die_while_its_half_waits_to_be_sorted) {
  ASSERT_TRUE(fill_half());
  run_tasks();
  fill_half();
  backend_.hold = false;
  backend_.finish(backend_.num_waiting());
  creator_.reset();
  EXPECT_EQ(blocks_->used_bytes(), 0U);
  run_tasks();  // too late: they find nothing to do
}

INSTANTIATE_TEST_SUITE_P(kinds, overlap,
                         testing::Values(kind{"whole", false, 1}, kind{"in_pieces", false, 2},
                                         kind{"by_index", true, 2}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace flowrun::sort
