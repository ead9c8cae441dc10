// Reading the blocks of many runs in the order in which a merge wants them, of which the reader knows a part at a time.
#include "engine/runs/predicted_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/io/faulty_backend.h"
#include "engine/runs/run_writer.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"

namespace flowrun::runs {
namespace {

void wait_for(const std::function<outcome(waker*)>& step) {
  for (;;) {
    blocking_waker waiter;
    if (!step(&waiter).is_blocked()) return;
    waiter.wait();
  }
}

// Runs of so many blocks each, whose first keys ascend at random; a block's row is its first key.
std::vector<run> write_runs(block::block_manager& blocks, const std::vector<size_t>& sizes,
                            const block_coding& coding = {}) {
  std::mt19937_64 random(11);
  run_writer writer(blocks, tiny_block, 3, coding);
  for (const size_t size : sizes) {
    writer.begin_run();
    uint64_t first = random() % 50;
    for (size_t i = 0; i < size; ++i, first += random() % 50) {
      std::byte* payload = nullptr;
      wait_for([&](waker* w) {
        payload = writer.payload(w);
        return payload == nullptr ? outcome::blocked() : outcome::ready();
      });
      std::memcpy(payload, &first, sizeof first);
      writer.submit(1, sizeof first, 0, first);
    }
  }
  wait_for([&](waker* w) { return writer.flush(w); });
  return writer.take();
}

bool less_first(const run& a, uint32_t i, const run& b, uint32_t j) { return a.blocks.first(i) < b.blocks.first(j); }

// (run, block), in order.
std::vector<std::pair<uint32_t, uint32_t>> sigma_of(const std::vector<run>& runs) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t r = 0; r < runs.size(); ++r)
    for (uint32_t b = 0; b < runs[r].blocks.size(); ++b) out.emplace_back(r, b);
  std::stable_sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    return runs[a.first].blocks.first(a.second) < runs[b.first].blocks.first(b.second);
  });
  return out;
}

// Reads at most so many blocks, and holds none.
uint64_t read(predicted_reader& reader, const std::vector<run>& runs, uint64_t most) {
  const auto sigma = sigma_of(runs);
  for (uint64_t i = 0; i < most; ++i) {
    if (reader.exhausted()) return i;
    EXPECT_EQ(std::pair(reader.upcoming().run, reader.upcoming().block), sigma[i]);
    block::prefetched_block block;
    wait_for([&](waker* w) { return reader.next(block, w); });
    const run& from = runs[sigma[i].first];
    EXPECT_EQ(block.header().stream, from.stream);
    EXPECT_EQ(block.header().index, sigma[i].second);
    uint64_t first = 0;
    std::memcpy(&first, block.payload(), sizeof first);
    EXPECT_EQ(first, from.blocks.first(sigma[i].second));
  }
  return most;
}

std::vector<size_t> sizes(size_t num_blocks) {
  return {num_blocks / 2, 0, num_blocks / 4, 1, num_blocks - num_blocks / 2 - num_blocks / 4 - 1};
}

TEST(predicted_reader, reads_in_the_order_of_prediction) {
  for (const unsigned num_disks : {1u, 4u}) {
    // What is known ahead is less than all blocks, about all of them, or more.
    for (const size_t num_blocks : {1000u, 30u, 5u}) {
      for (const unsigned num_buffers : {1u, 6u, 40u}) {
        for (const compression how : {compression::none, compression::lz4}) {
          scratch_rig rig({.on_disk = true, .num_disks = num_disks});
          const block_coding coding{how};
          const std::vector<run> runs = write_runs(rig.blocks(), sizes(num_blocks), coding);
          reading_memory memory;
          memory.num_buffers = num_buffers;
          memory.coding = coding;
          predicted_reader reader(rig.blocks(), runs, less_first, memory);
          EXPECT_EQ(read(reader, runs, num_blocks + 1), num_blocks);
          block::prefetched_block none;
          EXPECT_EQ(reader.next(none, nullptr), outcome::done());
        }
      }
    }
  }
}

// The rig fails if a block is not free.
TEST(predicted_reader, frees_what_was_never_asked_for) {
  for (const unsigned num_disks : {1u, 3u}) {
    for (const uint64_t most : {0u, 1u, 37u, 399u, 400u}) {
      scratch_rig rig({.num_disks = num_disks});
      const std::vector<run> runs = write_runs(rig.blocks(), sizes(400));
      reading_memory memory;
      memory.num_buffers = 5;
      predicted_reader reader(rig.blocks(), runs, less_first, memory);
      EXPECT_EQ(read(reader, runs, most), most);
    }
  }
}

TEST(predicted_reader, frees_all_after_a_failure) {
  for (const unsigned num_disks : {1u, 3u}) {
    for (const uint64_t nth : {1u, 20u, 33u, 150u}) {
      scratch_rig rig({.num_disks = num_disks}, std::make_unique<io::faulty_backend>(
                                                    io::make_backend(io::backend_kind::memory),
                                                    std::vector<io::injected_fault>{{.nth = nth, .value = EIO}}));
      const std::vector<run> runs = write_runs(rig.blocks(), sizes(200));
      reading_memory memory;
      memory.num_buffers = 4;
      predicted_reader reader(rig.blocks(), runs, less_first, memory);
      EXPECT_EQ(error_of([&] { read(reader, runs, 200); }).kind(), error_kind::io);
    }
  }
}

// The writer lets go of where its blocks lie once the runs know it.
TEST(predicted_reader, long_runs_of_a_writer_know_their_blocks) {
  scratch_rig rig;
  const std::vector<run> runs = write_runs(rig.blocks(), {3000, 7, 2500});
  std::vector<std::pair<uint32_t, uint64_t>> places;
  for (const run& r : runs)
    for (const run_block& b : r.blocks) {
      EXPECT_EQ(b.id.num_bytes, tiny_block);
      places.emplace_back(b.id.disk, b.id.offset);
    }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::adjacent_find(places.begin(), places.end()), places.end());
  predicted_reader reader(rig.blocks(), runs, less_first, reading_memory());
  EXPECT_EQ(read(reader, runs, 6000), 5507u);
}

}  // namespace
}  // namespace flowrun::runs
