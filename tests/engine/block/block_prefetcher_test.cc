// Reading ahead: round trips over every backend, damage, waiting, and buffers that outlive their prefetcher.
#include "engine/block/block_prefetcher.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <optional>
#include <random>
#include <thread>

#include "engine/block/buffered_writer.h"
#include "engine/block/prefetch_order.h"
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

std::vector<fetch> in_order(uint64_t stream, const std::vector<block_id>& ids) {
  std::vector<fetch> sequence;
  for (uint64_t i = 0; i < ids.size(); ++i) sequence.push_back({ids[i], stream, i});
  return sequence;
}

// ---- round trips on memory, threads and io_uring
// ---------------------------------------------------------------------

struct setting {
  io::backend_kind kind;
  const char* name;
};

class round_trip : public ::testing::TestWithParam<setting> {
 protected:
  void SetUp() override {
    if (GetParam().kind == io::backend_kind::io_uring && !io::io_uring_refusal().empty()) {
      GTEST_SKIP() << "no io_uring here: " << io::io_uring_refusal();
    }
    backend_ = io::make_backend(GetParam().kind, 8);
  }
  temporary_directory where_;
  std::unique_ptr<io::backend> backend_;
};

// Many interleaved streams, as in a merge, with every strategy, few and many buffers, freeing on the way.
TEST_P(round_trip, streams_come_back_in_any_interleaving) {
  std::mt19937 random(5);
  for (const auto strategy : {allocation_strategy::striping, allocation_strategy::simple_randomised,
                              allocation_strategy::fully_randomised, allocation_strategy::randomised_cycling}) {
    for (const unsigned num_disks : {1u, 3u}) {
      manager_options options = directory_options(*backend_, where_, num_disks);
      options.strategy = strategy;
      block_manager manager(options);
      std::vector<std::vector<fetch>> streams;
      for (uint64_t s = 1; s <= 5; ++s) {
        streams.push_back(in_order(s, write_stream(manager, s, 20 + s, 2 + static_cast<unsigned>(s))));
      }
      std::vector<fetch> sequence;
      while (!streams.empty()) {
        const size_t s = random() % streams.size();
        sequence.push_back(streams[s].front());
        streams[s].erase(streams[s].begin());
        if (streams[s].empty()) streams.erase(streams.begin() + static_cast<long>(s));
      }
      for (const unsigned num_buffers : {1u, 2u, 7u, 1000u}) {
        const bool last = num_buffers == 1000;
        block_prefetcher prefetcher(
            manager, sequence, num_buffers,
            {.order = prefetch_order(sequence, manager.weights(), num_buffers), .free_after_read = last});
        block_prefetcher::buffer block;
        for (const fetch& wanted : sequence) {
          ASSERT_TRUE(prefetcher.next(block));
          EXPECT_EQ(block.header().stream, wanted.stream);
          EXPECT_EQ(block.header().index, wanted.index);
          EXPECT_EQ(block.header().num_rows, wanted.index % 100);
          ASSERT_EQ(block.num_bytes(), tiny_block);
          ASSERT_TRUE(has_payload(block.data(), tiny_block, wanted.stream, wanted.index));
        }
        EXPECT_FALSE(prefetcher.next(block));
        EXPECT_FALSE(block);
        EXPECT_EQ(prefetcher.next(block, nullptr), outcome::done());
        EXPECT_EQ(prefetcher.num_given_up(), 0u);
      }
      EXPECT_EQ(manager.used_bytes(), 0u);
      EXPECT_EQ(manager.peak_used_bytes(), sequence.size() * tiny_block);
    }
  }
}

TEST_P(round_trip, a_consumer_may_hold_all_but_one_buffer) {
  manager_options options = directory_options(*backend_, where_, 4);
  options.strategy = allocation_strategy::fully_randomised;
  block_manager manager(options);
  const auto sequence = in_order(9, write_stream(manager, 9, 120));
  for (const unsigned num_buffers : {2u, 5u, 16u}) {
    block_prefetcher prefetcher(manager, sequence, num_buffers);
    std::vector<block_prefetcher::buffer> held(num_buffers - 1);
    for (uint64_t i = 0; i < sequence.size(); ++i) {
      block_prefetcher::buffer& place = held[(i * 7) % held.size()];
      ASSERT_TRUE(prefetcher.next(place));
      ASSERT_TRUE(has_payload(place.data(), tiny_block, 9, i));
    }
  }
}

TEST_P(round_trip, buffers_may_be_let_go_on_other_threads) {
  block_manager manager(directory_options(*backend_, where_, 2));
  const auto sequence = in_order(3, write_stream(manager, 3, 200));
  std::vector<std::jthread> threads;
  std::vector<std::shared_ptr<const void>> owners;
  block_prefetcher::buffer last;
  {
    block_prefetcher prefetcher(manager, sequence, 6);
    for (uint64_t i = 0; i < sequence.size(); ++i) {
      block_prefetcher::buffer block;
      ASSERT_TRUE(prefetcher.next(block));
      if (i % 50 == 0) owners.push_back(block.owner());
      if (i + 1 == sequence.size()) {
        last = std::move(block);
      } else {
        threads.emplace_back(
            [i, owned = std::move(block)] { EXPECT_TRUE(has_payload(owned.data(), tiny_block, 3, i)); });
      }
      if (owners.size() == 3) owners.clear();
    }
  }
  threads.clear();
  EXPECT_TRUE(has_payload(last.data(), tiny_block, 3, 199));
}

TEST_P(round_trip, may_die_at_any_time) {
  block_manager manager(directory_options(*backend_, where_, 2));
  const auto sequence = in_order(3, write_stream(manager, 3, 40));
  block_prefetcher::buffer survivor;
  for (uint64_t num_taken = 0; num_taken < 40; ++num_taken) {
    block_prefetcher prefetcher(manager, sequence, 5);
    for (uint64_t i = 0; i < num_taken; ++i) ASSERT_TRUE(prefetcher.next(survivor));
  }
  EXPECT_TRUE(has_payload(survivor.data(), tiny_block, 3, 38));
  EXPECT_EQ(manager.used_bytes(), 40u * tiny_block);
}

INSTANTIATE_TEST_SUITE_P(backends, round_trip,
                         ::testing::Values(setting{io::backend_kind::memory, "memory"},
                                           setting{io::backend_kind::threads, "threads"},
                                           setting{io::backend_kind::io_uring, "io_uring"}),
                         [](const auto& one) { return std::string(one.param.name); });

// ---- told bit by bit
// -------------------------------------------------------------------------------------------------

// Tells a prefetcher of the next `piece` blocks whenever fewer than twice its buffers are ahead.
class teller {
 public:
  teller(block_manager& manager, std::vector<fetch> sequence, unsigned num_buffers, uint64_t piece)
      : sequence_(std::move(sequence)),
        num_buffers_(num_buffers),
        piece_(piece),
        order_(manager.weights(), num_buffers, {}),
        prefetcher_(manager, {sequence_.size(), tiny_block}, num_buffers, true) {
    tell();
  }
  bool next(block_prefetcher::buffer& out) {
    const bool more = prefetcher_.next(out);
    tell();
    return more;
  }
  uint64_t num_given_up() const { return prefetcher_.num_given_up(); }

 private:
  void tell() {
    while (num_told_ < sequence_.size() && order_.num_decided() < prefetcher_.position() + 2 * num_buffers_) {
      const uint64_t end = std::min<uint64_t>(num_told_ + piece_, sequence_.size());
      std::vector<uint32_t> disks;
      for (uint64_t i = num_told_; i < end; ++i) disks.push_back(sequence_[i].id.disk);
      const std::vector<uint64_t> order = order_.extend(disks, end == sequence_.size());
      waiting_.insert(waiting_.end(), sequence_.begin() + static_cast<long>(num_told_),
                      sequence_.begin() + static_cast<long>(end));
      num_told_ = end;
      if (order.empty() && !order_.is_that_of_sequence()) continue;  // nothing of these is decided yet
      prefetcher_.extend(waiting_, order);
      waiting_.clear();
    }
  }

  const std::vector<fetch> sequence_;
  const unsigned num_buffers_;
  const uint64_t piece_;
  order_in_pieces order_;
  block_prefetcher prefetcher_;
  std::vector<fetch> waiting_;
  uint64_t num_told_ = 0;
};

TEST_P(round_trip, a_sequence_that_is_told_bit_by_bit) {
  constexpr uint64_t num_blocks = 300;
  for (const unsigned num_disks : {1u, 4u}) {
    for (const unsigned num_buffers : {1u, 3u, 20u}) {
      for (const uint64_t piece : {uint64_t{1}, uint64_t{64}, num_blocks, 2 * num_blocks}) {
        manager_options options = directory_options(*backend_, where_, num_disks);
        options.strategy = allocation_strategy::fully_randomised;
        block_manager manager(options);
        teller reader(manager, in_order(3, write_stream(manager, 3, num_blocks)), num_buffers, piece);
        block_prefetcher::buffer block;
        for (uint64_t i = 0; i < num_blocks; ++i) {
          ASSERT_TRUE(reader.next(block));
          ASSERT_TRUE(has_payload(block.data(), tiny_block, 3, i));
        }
        EXPECT_FALSE(reader.next(block));
        EXPECT_EQ(reader.num_given_up(), 0u);
        EXPECT_EQ(manager.used_bytes(), 0u);
      }
    }
  }
}

// The buffers are never empty where two pieces meet: the first blocks of the second are in flight before the last of
// the first is asked for.
TEST(block_prefetcher, reads_on_where_pieces_meet) {
  held_backend backend;
  backend.hold = false;
  block_manager manager(memory_options(backend, 1));
  const auto sequence = in_order(1, write_stream(manager, 1, 20));
  backend.hold = true;
  block_prefetcher prefetcher(manager, {20, tiny_block}, 4, false);
  EXPECT_EQ(backend.num_waiting(), 0u);
  prefetcher.extend(std::span(sequence).first(2));
  EXPECT_EQ(backend.num_waiting(), 2u);
  prefetcher.extend(std::span(sequence).subspan(2, 8));
  EXPECT_EQ(backend.num_waiting(), 4u);
  block_prefetcher::buffer block;
  for (uint64_t i = 0; i < 20; ++i) {
    if (i == 6) prefetcher.extend(std::span(sequence).subspan(10));
    backend.finish(1);
    ASSERT_EQ(prefetcher.next(block, nullptr), outcome::ready());
    ASSERT_TRUE(has_payload(block.data(), tiny_block, 1, i));
    block.reset();
    EXPECT_EQ(backend.num_waiting(), std::min<uint64_t>(4, 19 - i));
  }
}

// What was told, but has no place in the order yet, is read when it is wanted.
TEST(block_prefetcher, a_block_that_is_wanted_before_its_turn_was_told) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 2));
  const auto sequence = in_order(1, write_stream(manager, 1, 6));
  block_prefetcher prefetcher(manager, {6, tiny_block}, 2, true);
  prefetcher.extend(sequence, std::vector<uint64_t>{1, 0});
  block_prefetcher::buffer block;
  for (uint64_t i = 0; i < 6; ++i) {
    if (i == 4) prefetcher.extend({}, std::vector<uint64_t>{3, 2, 5, 4});
    ASSERT_TRUE(prefetcher.next(block));
    ASSERT_TRUE(has_payload(block.data(), tiny_block, 1, i));
  }
  EXPECT_FALSE(prefetcher.next(block));
}

TEST(block_prefetcher, a_block_that_was_not_told_is_our_bug) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 1));
  const auto sequence = in_order(1, write_stream(manager, 1, 3));
  block_prefetcher prefetcher(manager, {2, tiny_block}, 2, false);
  block_prefetcher::buffer block;
  EXPECT_EQ(error_of([&] { prefetcher.next(block); }).kind(), error_kind::internal);
  EXPECT_EQ(error_of([&] { prefetcher.extend(sequence); }).kind(), error_kind::internal);  // more than there are
}

// Reads that fail on both sides of a place where pieces meet.
TEST(block_prefetcher, failures_where_pieces_meet) {
  for (const uint64_t nth : {15u, 16u, 17u, 18u, 40u}) {
    for (const unsigned num_disks : {1u, 3u}) {
      io::faulty_backend backend(io::make_backend(io::backend_kind::memory), {{.nth = nth, .value = EIO}});
      block_manager manager(memory_options(backend, num_disks));
      const auto sequence = in_order(1, write_stream(manager, 1, 60));
      uint64_t num_read = 0;
      {
        teller reader(manager, sequence, 4, 16);
        block_prefetcher::buffer block;
        const error e = error_of([&] {
          for (; reader.next(block); ++num_read) ASSERT_TRUE(has_payload(block.data(), tiny_block, 1, num_read));
        });
        EXPECT_EQ(e.kind(), error_kind::io);
        EXPECT_THROW(reader.next(block), error);
      }
      EXPECT_EQ(manager.used_bytes(), (60 - num_read) * tiny_block);  // what was handed out is free, and no more
    }
  }
}

// ---- damage
// ----------------------------------------------------------------------------------------------------------

TEST(block_prefetcher, a_bit_flipped_on_the_way_is_noticed) {
  for (const auto way : {io::direction::read, io::direction::write}) {
    for (uint64_t bit : {0u, 70u, 200u, 600u, 32767u}) {
      io::faulty_backend backend(io::make_backend(io::backend_kind::memory),
                                 {{.way = way, .nth = 4, .what = io::injected_fault::effect::flip_bit, .value = bit}});
      block_manager manager(memory_options(backend, 1));
      block_prefetcher prefetcher(manager, in_order(8, write_stream(manager, 8, 6)), 2);
      block_prefetcher::buffer block;
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(prefetcher.next(block));
      const error e = error_of([&] { prefetcher.next(block); });
      EXPECT_EQ(e.kind(), error_kind::io);
      EXPECT_THAT(e.what(), AllOf(HasSubstr("scratch block damaged: disk0 at offset 12288"),
                                  HasSubstr("expected block 3 of run 8")));
      EXPECT_THROW(prefetcher.next(block), error);  // and it stays so
      EXPECT_FALSE(block);
    }
  }
}

TEST(block_prefetcher, swapped_and_stale_blocks_are_noticed) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 2));
  const auto ids = write_stream(manager, 8, 6);
  auto swapped = in_order(8, ids);
  std::swap(swapped[1].id, swapped[4].id);
  block_prefetcher::buffer block;
  {
    block_prefetcher prefetcher(manager, swapped, 3);
    ASSERT_TRUE(prefetcher.next(block));
    EXPECT_THAT(error_of([&] { prefetcher.next(block); }).what(),
                AllOf(HasSubstr("expected block 1 of run 8"), HasSubstr("found block 4 of run 8")));
  }
  // The space of run 8 now holds run 9, and a prefetcher still asks for run 8.
  for (const block_id& id : ids) manager.free(id);
  write_stream(manager, 9, 6);
  block_prefetcher prefetcher(manager, in_order(8, ids), 3);
  EXPECT_THAT(error_of([&] { prefetcher.next(block); }).what(), HasSubstr("of run 9"));
}

TEST(block_prefetcher, failed_and_short_reads_are_reported) {
  using effect = io::injected_fault::effect;
  io::faulty_backend backend(
      io::make_backend(io::backend_kind::memory),
      {{.nth = 2, .what = effect::fail, .value = EIO}, {.nth = 3, .what = effect::shorten, .value = 512}});
  block_manager manager(memory_options(backend, 1));
  const auto sequence = in_order(8, write_stream(manager, 8, 2));
  block_prefetcher::buffer block;
  {
    block_prefetcher prefetcher(manager, sequence, 1);
    ASSERT_TRUE(prefetcher.next(block));
    EXPECT_THAT(error_of([&] { prefetcher.next(block); }).what(), HasSubstr("Input/output error"));
  }
  block_prefetcher prefetcher(manager, sequence, 1);
  EXPECT_THAT(error_of([&] { prefetcher.next(block); }).what(), HasSubstr("has 4096 bytes but 512 were read"));
  EXPECT_EQ(manager.used_bytes(), 2u * tiny_block);
}

// ---- waiting
// ---------------------------------------------------------------------------------------------------------

TEST(block_prefetcher, a_consumer_is_woken_by_the_block_it_waits_for) {
  held_backend backend;
  backend.hold = false;
  block_manager manager(memory_options(backend, 1));
  const auto sequence = in_order(1, write_stream(manager, 1, 5));
  backend.hold = true;
  backend.batches.clear();
  block_prefetcher prefetcher(manager, sequence, 3);
  EXPECT_EQ(backend.batches, (std::vector<size_t>{3}));  // one call for all
  block_prefetcher::buffer first, second;
  blocking_waker waker;
  EXPECT_EQ(prefetcher.next(first, &waker), outcome::blocked());
  backend.finish(1);
  waker.wait();
  EXPECT_EQ(prefetcher.next(first, &waker), outcome::ready());
  EXPECT_EQ(prefetcher.position(), 1u);
  EXPECT_EQ(prefetcher.next(second, &waker), outcome::blocked());
  EXPECT_EQ(backend.num_waiting(), 2u);
  first.reset();  // its buffer reads block 3
  EXPECT_EQ(backend.num_waiting(), 3u);
  backend.finish(1);
  waker.wait();
  EXPECT_EQ(prefetcher.next(second, nullptr), outcome::ready());
  EXPECT_EQ(second.header().index, 1u);
  backend.hold = false;
  backend.finish(2);
}

TEST(block_prefetcher, a_consumer_that_holds_everything_waits_for_its_own_buffers) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 1));
  block_prefetcher prefetcher(manager, in_order(1, write_stream(manager, 1, 5)), 2);
  block_prefetcher::buffer first, second, third;
  blocking_waker waker;
  ASSERT_EQ(prefetcher.next(first, &waker), outcome::ready());
  ASSERT_EQ(prefetcher.next(second, &waker), outcome::ready());
  EXPECT_EQ(prefetcher.next(third, &waker), outcome::blocked());
  EXPECT_EQ(prefetcher.next(third, &waker), outcome::blocked());
  first.reset();
  waker.wait();
  ASSERT_EQ(prefetcher.next(third, &waker), outcome::ready());
  EXPECT_EQ(third.header().index, 2u);
}

// The schedule's order on three disks, and that a starving consumer gets its block although later ones fill the
// buffers.
TEST(block_prefetcher, obeys_the_schedule_and_gives_later_blocks_up_when_it_must) {
  held_backend backend;
  backend.hold = false;
  block_manager manager(memory_options(backend, 3));
  std::vector<block_id> ids;
  const unsigned disks[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2};
  {
    buffered_writer writer(manager, tiny_block, 2);
    for (uint64_t i = 0; i < 12; ++i) {
      std::byte* buffer = writer.acquire();
      fill_payload(buffer, tiny_block, 1, i);
      writer.submit(buffer, disks[i], {.stream = 1, .index = i});
    }
    writer.flush();
    for (uint64_t i = 0; i < 12; ++i) ids.push_back(writer.result(i));
  }
  backend.offsets.clear();
  const std::vector<fetch> sequence = in_order(1, ids);
  block_prefetcher prefetcher(manager, sequence, 6, {.order = prefetch_order(sequence, manager.weights(), 6)});
  // σ reversed in 6 buffers: 11 8 | 10 7 5 | 9 6 4 | 3 | 2 | 1 | 0 leave it; so 0, 1, 2, 3, 4 and 6 are read first.
  ASSERT_EQ(backend.offsets.size(), 6u);
  const std::vector<uint64_t> expected{ids[0].offset, ids[1].offset, ids[2].offset,
                                       ids[3].offset, ids[4].offset, ids[6].offset};
  EXPECT_EQ(backend.offsets, expected);
  std::vector<block_prefetcher::buffer> held(12);
  for (uint64_t i = 0; i < 5; ++i) ASSERT_EQ(prefetcher.next(held[i], nullptr), outcome::ready());
  EXPECT_EQ(prefetcher.num_given_up(), 0u);
  ASSERT_EQ(prefetcher.next(held[5], nullptr), outcome::ready());  // 5: the only other buffer holds 6
  EXPECT_EQ(prefetcher.num_given_up(), 1u);
  EXPECT_TRUE(has_payload(held[5].data(), tiny_block, 1, 5));
  EXPECT_EQ(prefetcher.next(held[6], nullptr), outcome::blocked());
  for (uint64_t i = 0; i < 6; ++i) held[i].reset();
  for (uint64_t i = 6; i < 12; ++i) {
    ASSERT_EQ(prefetcher.next(held[i], nullptr), outcome::ready());
    EXPECT_TRUE(has_payload(held[i].data(), tiny_block, 1, i));
  }
}

TEST(block_prefetcher, blocks_of_several_lengths_and_no_blocks) {
  const auto backend = io::make_backend(io::backend_kind::memory);
  block_manager manager(memory_options(*backend, 2));
  auto sequence = in_order(1, write_stream(manager, 1, 3));
  for (const fetch& one : in_order(2, write_stream(manager, 2, 3, 2, 3 * tiny_block))) sequence.push_back(one);
  block_prefetcher prefetcher(manager, sequence, 2);
  block_prefetcher::buffer block;
  for (const fetch& wanted : sequence) {
    ASSERT_TRUE(prefetcher.next(block));
    EXPECT_EQ(block.num_bytes(), wanted.id.num_bytes);
    EXPECT_EQ(block.payload_bytes(), wanted.id.num_bytes - 64);
    EXPECT_TRUE(has_payload(block.data(), wanted.id.num_bytes, wanted.stream, wanted.index));
  }
  block_prefetcher none(manager, {}, 4);
  EXPECT_EQ(none.next(block, nullptr), outcome::done());
}

}  // namespace
}  // namespace flowrun::block
