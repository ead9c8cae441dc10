// Broken blocks, full disks, cancellation, and sorts that are given up halfway.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

namespace flowrun::sort {
namespace {

using effect = io::injected_fault::effect;

const record::row_type pairs = type_of({{"a", "u64"}, {"b", "u64"}});
const record::row_type wide = type_of({{"k", "bytes[12]"}, {"v", "bytes[40]"}});
const record::row_type lines = type_of({{"line", "string"}});

std::vector<batch> rows_of(const record::row_type& type, record::batch_pool& pool, size_t num_bytes) {
  random_rows source;
  return source.batches(type, pool, num_bytes / std::max(type.row_bytes(), 16U), 8 * 1024);
}

class each_type : public testing::TestWithParam<size_t> {
 protected:
  const record::row_type type_ = std::vector{pairs, wide, lines}[GetParam()];
  const sort_settings settings_ = sort_by(type_, columns({0}));
  record::batch_pool pool_;
  const std::vector<batch> input_ = rows_of(type_, pool_, 800'000);
  sort_place place_;

  void SetUp() override { place_.memory_bytes = 200'000; }

  // The error of a sort whose transfers meet these faults.
  error error_with(std::vector<io::injected_fault> faults, unsigned num_threads = 0) {
    place_.num_threads = num_threads;
    auto inner = num_threads > 0 ? io::make_thread_backend(8) : io::make_memory_backend();
    sort_rig rig(place_, std::make_unique<io::faulty_backend>(std::move(inner), std::move(faults)));
    return error_of([&] {
      std::unique_ptr<run_creator> creator = make_run_creator(settings_, rig.resources());
      runs::sorted_runs runs = create_runs(rig, *creator, input_);
      std::unique_ptr<run_merger> merger = make_run_merger(settings_, rig.resources(), std::move(runs), 8192);
      merge_runs(rig, settings_, *merger);
    });
  }
};

TEST_P(each_type, a_flipped_bit_on_its_way_from_the_disk) {
  for (const uint64_t nth : {uint64_t{1}, uint64_t{30}, uint64_t{100}}) {
    const error e = error_with({{io::direction::read, nth, 1, effect::flip_bit, 4096 * 5 + 77}});
    EXPECT_EQ(e.kind(), error_kind::io);
    EXPECT_NE(std::string(e.what()).find("damaged"), std::string::npos) << e.what();
  }
}

TEST_P(each_type, a_flipped_bit_on_its_way_to_the_disk) {
  EXPECT_EQ(error_with({{io::direction::write, 17, 1, effect::flip_bit, 12345}}).kind(), error_kind::io);
}

TEST_P(each_type, reads_and_writes_that_fail) {
  for (const unsigned num_threads : {0U, 2U}) {
    EXPECT_EQ(error_with({{io::direction::read, 20, 1, effect::fail, EIO}}, num_threads).kind(), error_kind::io);
    EXPECT_EQ(error_with({{io::direction::write, 5, 1'000'000, effect::fail, EIO}}, num_threads).kind(),
              error_kind::io);
    EXPECT_EQ(error_with({{io::direction::read, 20, 1, effect::shorten, 100}}, num_threads).kind(), error_kind::io);
  }
}

TEST_P(each_type, disks_that_are_full) {
  place_.scratch_limit = 160 * 1024;
  sort_rig rig(place_);
  std::unique_ptr<run_creator> creator = make_run_creator(settings_, rig.resources());
  EXPECT_EQ(error_of([&] { create_runs(rig, *creator, input_); }).kind(), error_kind::resources);
}

TEST_P(each_type, given_up_during_run_creation) {
  for (const unsigned num_threads : {0U, 2U}) {
    for (const bool on_disk : {false, true}) {
      place_.num_threads = num_threads;
      place_.on_disk = on_disk;
      for (const size_t num_batches : {size_t{1}, input_.size() / 3, input_.size()}) {
        sort_rig rig(place_);
        task_queue::sleeper sleeper(rig.queue());
        std::unique_ptr<run_creator> creator = make_run_creator(settings_, rig.resources());
        for (size_t i = 0; i < num_batches; ++i) {
          prepared_rows prepared = creator->prepare(input_[i]);
          while (creator->push(prepared, sleeper).is_blocked()) sleeper.wait();
        }
        if (num_batches == input_.size()) (void)creator->finish(sleeper);  // given up: the answer is not used
        if (num_threads == 0) rig.queue().drain();                         // an executor outlives its stages
        creator.reset();
        EXPECT_EQ(rig.blocks().used_bytes(), 0U);
      }
    }
  }
}

// Runs that fit, and a neighbour that takes all the space that is left when they are merged, and all that merging
// frees.
TEST_P(each_type, disks_that_become_full_while_merging) {
  for (const unsigned num_threads : {0U, 2U}) {
    place_.num_threads = num_threads;
    place_.memory_bytes = 120'000;
    place_.scratch_limit = 2 * MiB;
    sort_rig rig(place_);
    std::unique_ptr<run_creator> creator = make_run_creator(settings_, rig.resources());
    runs::sorted_runs runs = create_runs(rig, *creator, input_);
    creator.reset();
    std::vector<block::block_id> taken;
    auto take_all = [&] {
      for (;;) taken.push_back(rig.blocks().allocate(0, place_.block_bytes));
    };
    {
      std::unique_ptr<run_merger> merger = make_run_merger(settings_, rig.resources(), std::move(runs), 8192);
      EXPECT_GE(merger->merge_passes(), 2U);
      task_queue::sleeper sleeper(rig.queue());
      std::vector<merge_part> raw;
      const error e = error_of([&] {
        for (outcome s = outcome::ready(); !s.is_done(); s = merger->pull(raw, sleeper)) {
          EXPECT_EQ(error_of(take_all).kind(), error_kind::resources);
          if (s.is_blocked()) sleeper.wait();
        }
      });
      EXPECT_EQ(e.kind(), error_kind::resources) << e.what();
      EXPECT_NE(std::string(e.what()).find("scratch"), std::string::npos) << e.what();
    }
    for (const block::block_id id : taken) rig.blocks().free(id);
  }
}

TEST_P(each_type, given_up_during_merging) {
  for (const bool on_disk : {false, true}) {
    for (const uint64_t memory : {uint64_t{150'000}, uint64_t{600'000}}) {  // with and without intermediate merges
      for (const int num_pulls : {0, 1, 3, 40}) {
        place_.memory_bytes = memory;
        place_.on_disk = on_disk;
        place_.num_threads = on_disk ? 2 : 0;
        sort_rig rig(place_);
        task_queue::sleeper sleeper(rig.queue());
        std::unique_ptr<run_creator> creator = make_run_creator(settings_, rig.resources());
        runs::sorted_runs runs = create_runs(rig, *creator, input_);
        creator.reset();
        std::vector<merge_part> raw;
        {
          std::unique_ptr<run_merger> merger = make_run_merger(settings_, rig.resources(), std::move(runs), 8192);
          for (int i = 0; i < num_pulls; ++i)
            if (merger->pull(raw, sleeper).is_blocked() && i % 2 == 0) sleeper.wait();
        }
        EXPECT_EQ(rig.blocks().used_bytes(), 0U);
        for (const merge_part& part : raw) EXPECT_GT(size_of(part).num_rows, 0U);  // what was delivered stays valid
      }
    }
  }
}

TEST_P(each_type, a_limit_frees_what_it_leaves_unread) {
  sort_settings settings = settings_;
  settings.limit = 5000;
  const sort_result result = expect_sorted(settings, place_, input_);
  EXPECT_FALSE(result.in_memory);
}

TEST_P(each_type, cancelled_while_writing) {
  sort_rig rig(place_);
  std::atomic<int> asked{0};
  sort_resources r = rig.resources();
  r.cancelled = [&] { return ++asked > 10; };
  task_queue::sleeper sleeper(rig.queue());
  std::unique_ptr<run_creator> creator = make_run_creator(settings_, r);
  const error e = error_of([&] { create_runs(rig, *creator, input_); });
  EXPECT_EQ(e.kind(), error_kind::cancelled);
  EXPECT_LE(asked, 12);  // no further halves were begun
}

// Halves so large that they are sorted in pieces, several at once, while the one before fails to be written.
TEST(failure, while_pieces_are_being_sorted) {
  record::batch_pool pool;
  sort_place place;
  place.memory_bytes = 9 * MiB;
  place.block_bytes = 64 * KiB;
  place.num_threads = 3;
  std::mt19937_64 random(1);
  std::vector<uint64_t> values(2'000'000);
  for (uint64_t& value : values) value = random();
  const std::vector<batch> input = numbers(pool, values);
  const sort_settings settings = sort_by(type_of({{"k", "u64"}}), columns({0}));
  for (const uint64_t nth : {uint64_t{1}, uint64_t{20}, uint64_t{70}}) {
    sort_rig rig(place,
                 std::make_unique<io::faulty_backend>(
                     io::make_thread_backend(8),
                     std::vector<io::injected_fault>{{io::direction::write, nth, 1'000'000, effect::fail, EIO}}));
    std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
    EXPECT_EQ(error_of([&] { create_runs(rig, *creator, input); }).kind(), error_kind::io);
  }
  for (const size_t num_batches : {input.size() / 5, input.size() / 2, input.size()}) {  // given up
    sort_rig rig(place);
    task_queue::sleeper sleeper(rig.queue());
    std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
    for (size_t i = 0; i < num_batches; ++i) {
      prepared_rows prepared = creator->prepare(input[i]);
      while (creator->push(prepared, sleeper).is_blocked()) sleeper.wait();
    }
    creator.reset();
    EXPECT_EQ(rig.blocks().used_bytes(), 0U);
  }
}

std::string row_kind(const testing::TestParamInfo<size_t>& info) {
  const char* const names[] = {"narrow", "wide", "strings"};
  return names[info.param];
}

INSTANTIATE_TEST_SUITE_P(rows, each_type, testing::Values(0, 1, 2), row_kind);

}  // namespace
}  // namespace flowrun::sort
