#include "engine/io/disk_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <set>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/file.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

constexpr size_t block = 16 * KiB;

constexpr uint64_t rounds = bandwidth_windows::rounds_per_window;

TEST(bandwidth_windows, leave_the_ramp_out_and_begin_where_something_ended) {
  bandwidth_windows w(1'000, {1'000, 2, 1});
  w.add(900, 2, 50, 0);      // in the ramp
  w.add(1'100, 1, 70, 0);    // opens the first window; doesn't count itself
  w.add(1'600, 3, 100, 0);   // 500 ns of the window
  w.add(2'100, 1, 100, 40);  // its end
  EXPECT_EQ(w.num_closed(), 1U);
  EXPECT_FALSE(w.finished());
  EXPECT_DOUBLE_EQ(w.median().read, 200 / 1e-6);
  EXPECT_DOUBLE_EQ(w.median().write, 40 / 1e-6);
  w.add(4'100, 4, 0, 10);  // a window is as long as it takes until something ends
  EXPECT_TRUE(w.finished());
  EXPECT_EQ(w.num_closed(), 2U);
  EXPECT_DOUBLE_EQ(w.median().total(), 10 / 2e-6);  // the lower one of two
  w.add(5'100, 4, 1'000, 0);                        // too late
  EXPECT_DOUBLE_EQ(w.median().total(), 10 / 2e-6);
}

TEST(bandwidth_windows, the_ramp_lasts_until_the_first_transfers_have_ended) {
  bandwidth_windows w(0, {10, 1, 3});
  w.add(100, 2, 1, 1);
  w.add(200, 1, 1, 1);  // the third: opens
  w.add(300, 3 * rounds, 7, 0);
  ASSERT_TRUE(w.finished());
  EXPECT_DOUBLE_EQ(w.median().total(), 7 / 1e-7);
}

TEST(bandwidth_windows, the_median_window) {
  bandwidth_windows w(0, {100, 3, 1});
  w.add(0, 1, 0, 0);
  w.add(100, rounds, 30, 0);
  w.add(200, rounds, 0, 1);
  w.add(300, rounds, 20, 0);
  ASSERT_TRUE(w.finished());
  EXPECT_DOUBLE_EQ(w.median().read, 20 / 1e-7);
  EXPECT_EQ(w.median().write, 0);
}

TEST(bandwidth_windows, bursts_are_not_cut_in_two) {
  // Eight transfers of 10 bytes every 100 ns, of which the system tells in two parts: 8 in flight, windows of 100 ns.
  bandwidth_windows w(0, {100, 5, 8});
  for (uint64_t at = 0; !w.finished(); at += 100) {
    w.add(at, 3, 30, 0);
    w.add(at + 10, 5, 50, 0);
    ASSERT_LT(at, 10'000U);
  }
  EXPECT_EQ(w.num_closed(), 1U);  // the time is up before there are two of 32 transfers
  EXPECT_NEAR(w.median().read, 80 / 1e-7, 80 / 1e-7 * 0.1);
}

TEST(bandwidth_windows, of_a_very_slow_disk) {
  bandwidth_windows w(0, {100, 5, 8});
  w.add(0, 8, 80, 0);
  for (uint64_t at = 250; at < 1'500; at += 250) w.add(at, 1, 10, 0);
  EXPECT_FALSE(w.finished());
  w.add(1'500, 1, 10, 0);
  ASSERT_TRUE(w.finished());
  EXPECT_DOUBLE_EQ(w.median().read, 60 / 1.5e-6);
}

// Keeps what was asked for.
class noting_backend final : public backend {
 public:
  struct transfer {
    const file* target;
    direction way;
    uint64_t offset;
    size_t num_bytes;
  };

  using backend::submit;
  void submit(std::span<request* const> requests) noexcept override {
    most_at_once_ = std::max(most_at_once_, requests.size());
    for (const request* r : requests) noted_.push_back({r->target, r->way, r->offset, r->num_bytes});
    inner_->submit(requests);
  }
  std::string_view name() const override { return "noting"; }

  const std::vector<transfer>& noted() const { return noted_; }
  size_t most_at_once() const { return most_at_once_; }
  void forget() { noted_.clear(), most_at_once_ = 0; }

 private:
  std::unique_ptr<backend> inner_ = make_backend(backend_kind::memory);
  std::vector<transfer> noted_;
  size_t most_at_once_ = 0;
};

class disk_probe_test : public testing::Test {
 protected:
  // A clock that each look puts on by a millisecond.
  disk_probe probe_of(std::vector<file*> disks) {
    return disk_probe(carrier_, std::move(disks), stop_, [this] { return time_ += 1'000'000; });
  }

  probe_settings settings(probe_pattern pattern, unsigned depth) {
    return {pattern, block, depth, 3'000'000, 4'000'000, 5};
  }

  std::unique_ptr<file> disk_ = file::in_memory("a");
  std::unique_ptr<file> other_ = file::in_memory("b");
  noting_backend carrier_;
  std::atomic<bool> stop_ = false;
  uint64_t time_ = 0;
  const std::vector<size_t> first_ = {0};
};

TEST_F(disk_probe_test, fills_the_file_with_pages_that_all_differ) {
  disk_probe probe = probe_of({disk_.get()});
  constexpr uint64_t num_bytes = 3 * MiB + 5 * io_alignment;
  EXPECT_EQ(probe.fill(0, num_bytes, num_bytes, UINT64_MAX), num_bytes);
  EXPECT_EQ(disk_->num_bytes(), num_bytes);
  std::set<std::vector<std::byte>> pages;
  for (uint64_t at = 0; at < num_bytes; at += io_alignment) {
    std::vector<std::byte> page(io_alignment);
    ASSERT_EQ(disk_->read_at(at, page.data(), page.size()), static_cast<int64_t>(io_alignment));
    std::set<uint64_t> words;
    for (size_t i = 0; i < page.size(); i += 8) {
      uint64_t word = 0;
      std::memcpy(&word, page.data() + i, sizeof word);
      words.insert(word);
    }
    EXPECT_EQ(words.size(), io_alignment / 8);
    pages.insert(std::move(page));
  }
  EXPECT_EQ(pages.size(), num_bytes / io_alignment);
}

TEST_F(disk_probe_test, filling_stops_at_the_deadline_but_not_before_the_least) {
  disk_probe probe = probe_of({disk_.get()});
  const uint64_t filled = probe.fill(0, 256 * MiB, 20 * MiB, 0);
  EXPECT_GE(filled, 20 * MiB);
  EXPECT_LT(filled, 64 * MiB);
  EXPECT_EQ(disk_->num_bytes(), filled);
}

TEST_F(disk_probe_test, reads_go_through_the_file_and_begin_again) {
  disk_probe probe = probe_of({disk_.get()});
  probe.fill(0, 8 * block, 8 * block, UINT64_MAX);
  carrier_.forget();
  const probe_result result = probe.measure(first_, settings(probe_pattern::read, 3));
  EXPECT_EQ(carrier_.most_at_once(), 3U);
  ASSERT_GT(carrier_.noted().size(), 24U);
  for (size_t i = 0; i < carrier_.noted().size(); ++i) {
    EXPECT_EQ(carrier_.noted()[i].way, direction::read);
    EXPECT_EQ(carrier_.noted()[i].offset, i % 8 * block);
    EXPECT_EQ(carrier_.noted()[i].num_bytes, block);
  }
  // By the clock all three transfers take a millisecond.
  ASSERT_EQ(result.disks.size(), 1U);
  EXPECT_DOUBLE_EQ(result.disks[0].read, 3 * block / 1e-3);
  EXPECT_EQ(result.disks[0].write, 0);
  EXPECT_EQ(result.together.total(), result.disks[0].total());
}

TEST_F(disk_probe_test, a_later_measurement_goes_on_where_the_last_one_stopped) {
  disk_probe probe = probe_of({disk_.get()});
  probe.fill(0, 1000 * block, 1000 * block, UINT64_MAX);
  probe.measure(first_, settings(probe_pattern::read, 1));
  const uint64_t last = carrier_.noted().back().offset;
  carrier_.forget();
  probe.measure(first_, settings(probe_pattern::read, 1));
  EXPECT_EQ(carrier_.noted().front().offset, last + block);
}

TEST_F(disk_probe_test, mixed_reads_the_first_half_and_writes_as_much_in_the_second) {
  for (const unsigned depth : {1U, 4U, 5U}) {
    disk_probe probe = probe_of({disk_.get()});
    probe.fill(0, 9 * block, 9 * block, UINT64_MAX);
    carrier_.forget();
    const probe_result result = probe.measure(first_, settings(probe_pattern::mixed, depth));
    int64_t more_reads = 0;
    for (const noting_backend::transfer& t : carrier_.noted()) {
      EXPECT_EQ(t.offset < 4 * block, t.way == direction::read);
      EXPECT_LE(t.offset + t.num_bytes, 9 * block);
      more_reads += t.way == direction::read ? 1 : -1;
    }
    EXPECT_LE(std::abs(more_reads), 1);
    EXPECT_NEAR(result.disks[0].read, result.disks[0].write, result.disks[0].total() / 4);
    EXPECT_DOUBLE_EQ(result.disks[0].total(), depth * block / 1e-3);
  }
}

TEST_F(disk_probe_test, several_disks_add_up) {
  disk_probe probe = probe_of({disk_.get(), other_.get()});
  for (const size_t i : {0, 1}) probe.fill(i, 8 * block, 8 * block, UINT64_MAX);
  carrier_.forget();
  const std::vector<size_t> both = {1, 0};
  const probe_result result = probe.measure(both, settings(probe_pattern::write, 2));
  EXPECT_EQ(carrier_.most_at_once(), 4U);
  EXPECT_EQ(carrier_.noted()[0].target, other_.get());
  EXPECT_EQ(carrier_.noted()[2].target, disk_.get());
  ASSERT_EQ(result.disks.size(), 2U);
  EXPECT_DOUBLE_EQ(result.together.write, result.disks[0].write + result.disks[1].write);
}

TEST_F(disk_probe_test, stops) {
  disk_probe probe = probe_of({disk_.get()});
  probe.fill(0, 8 * block, 8 * block, UINT64_MAX);
  stop_ = true;
  try {
    probe.measure(first_, settings(probe_pattern::mixed, 2));
    FAIL() << "not stopped";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::cancelled);
  }
  EXPECT_THROW(probe.fill(0, 8 * block, 8 * block, UINT64_MAX), error);
}

TEST_F(disk_probe_test, a_failed_transfer_is_thrown) {
  disk_probe probe = probe_of({disk_.get()});
  probe.fill(0, 8 * block, 8 * block, UINT64_MAX);
  disk_->truncate(3 * block);  // behind its back
  try {
    probe.measure(first_, settings(probe_pattern::read, 2));
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::io);
    EXPECT_THAT(e.what(), testing::HasSubstr("a transfer of 16.0 KiB at offset 49152 of a ended after 0 B"));
  }
}

TEST(disk_probe_on_disk, measures_with_each_backend) {
  const temporary_directory place;
  for (const backend_kind kind : {backend_kind::automatic, backend_kind::threads}) {
    const auto carrier = make_backend(kind, 16);
    const auto scratch = file::open(place.path(), open_mode::scratch, {.direct = true});
    const std::atomic<bool> stop = false;
    disk_probe probe(*carrier, {scratch.get()}, stop);
    EXPECT_EQ(probe.fill(0, 2 * MiB, 2 * MiB, UINT64_MAX), 2 * MiB);
    EXPECT_EQ(scratch->num_bytes(), 2 * MiB);
    const std::vector<size_t> it = {0};
    for (const probe_pattern pattern : {probe_pattern::read, probe_pattern::write, probe_pattern::mixed}) {
      const probe_result result = probe.measure(it, {pattern, 64 * KiB, 4, 1'000'000, 20'000'000, 3});
      EXPECT_EQ(result.disks[0].read > 0, pattern != probe_pattern::write);
      EXPECT_EQ(result.disks[0].write > 0, pattern != probe_pattern::read);
    }
    EXPECT_EQ(scratch->num_bytes(), 2 * MiB);
  }
  EXPECT_EQ(place.num_entries(), 0U);
}

}  // namespace
}  // namespace flowrun::io
