// Which runs of a priority queue take part in a merge.
#include "engine/container/queue_runs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "engine/base/waker.h"
#include "engine/container/queue_input.h"
#include "tests/support/scratch_rig.h"

namespace flowrun::container {
namespace {

class queue_runs_on_a_disk : public ::testing::Test {
 protected:
  void add_run(size_t num_items) {
    std::vector<uint64_t> items(num_items);
    std::iota(items.begin(), items.end(), 0);
    runs::run_writer writer(rig_.blocks(), tiny_block, 2);
    run_output<uint64_t> output(writer, packer_);
    std::span<const uint64_t> left = items;
    while (output.append(left, waker_).is_blocked()) waker_.wait();
    while (output.finish(waker_).is_blocked()) waker_.wait();
    runs_.add(output.take_run(), output.take_firsts());
  }
  // How many runs give something.
  size_t num_taking_part() {
    runs_.read_ahead();
    while (runs_.bound())
      if (runs_.load_bound(waker_).is_blocked()) waker_.wait();
    size_t count = 0;
    for (size_t r = 0; r < runs_.num_slots(); ++r) count += runs_.num_front(r) > 0 ? 1 : 0;
    return count;
  }

  scratch_rig rig_{{.num_disks = 1}};
  const item_packer<uint64_t> packer_{sizeof(uint64_t)};
  blocking_waker waker_;
  queue_runs<uint64_t> runs_{rig_.blocks(), tiny_block, 12, packer_};
};

// One alone would be merged into itself, again and again, while the queue waits for there to be less of them.
TEST_F(queue_runs_on_a_disk, are_merged_by_two_at_least) {
  add_run(10);
  add_run(100);
  runs_.choose_shortest();
  EXPECT_EQ(num_taking_part(), 2U);
}

TEST_F(queue_runs_on_a_disk, are_merged_when_they_are_short) {
  for (const size_t num_items : {100, 10, 20, 12, 400}) add_run(num_items);
  runs_.choose_shortest();
  EXPECT_EQ(num_taking_part(), 3U);
  runs_.choose_all();
  EXPECT_EQ(num_taking_part(), 5U);
}

}  // namespace
}  // namespace flowrun::container
