// What the contract (backend_contract_test.cc) leaves open: when things happen.
#include "engine/io/simulated_backend.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>

#include "engine/io/statistics.h"
#include "tests/engine/io/requests.h"

namespace flowrun::io {
namespace {

using testing::ElementsAre;

// A nanosecond a byte, on every disk.
class simulated_backend_test : public testing::Test {
 protected:
  struct transfer final : waker {
    explicit transfer(const event_clock& c) : clock(c) { one.on_done = this; }
    void wake() noexcept override { ended = clock.now(); }
    const event_clock& clock;
    request one;
    uint64_t ended = 0;
    std::vector<std::byte> bytes;
  };
  transfer& submit(file& target, direction way, uint64_t offset, size_t num_bytes, disk_queue* queue = nullptr,
                   disk_statistics* statistics = nullptr) {
    transfer& t = transfers.emplace_back(clock);
    t.bytes.resize(num_bytes, std::byte{static_cast<unsigned char>(transfers.size())});
    prepare(t.one, target, way, offset, t.bytes.data(), num_bytes);
    t.one.disk = queue;
    t.one.statistics = statistics;
    io.submit(t.one);
    return t;
  }

  event_clock clock;
  simulated_backend io{clock, uniform(1, 1)};
  std::deque<transfer> transfers;
};

TEST_F(simulated_backend_test, nothing_happens_while_the_clock_stands) {
  const auto memory = file::in_memory("m", 100);
  transfer& t = submit(*memory, direction::write, 0, 50);
  EXPECT_TRUE(t.one.in_flight());
  clock.advance(49);
  EXPECT_TRUE(t.one.in_flight());
  std::byte first{9};
  memory->read_at(0, &first, 1);
  EXPECT_EQ(first, std::byte{0}) << "the bytes were there before their time";
  clock.advance(1);
  EXPECT_TRUE(t.one.done());
  EXPECT_EQ(t.ended, 50U);
  memory->read_at(0, &first, 1);
  EXPECT_EQ(first, t.bytes[0]);
  EXPECT_EQ(t.one.take_result(), 50U);
}

TEST_F(simulated_backend_test, a_slow_disk_does_not_delay_a_fast_one) {
  io.attach("slow", uniform(1, 1000));
  io.attach("fast", uniform(1, 1));
  const auto slow = file::in_memory("slow", 100);
  const auto fast = file::in_memory("fast/x", 100);
  disk_queue slow_queue(2);
  disk_queue fast_queue(2);
  for (uint64_t i = 0; i < 10; ++i) {
    submit(*slow, direction::read, i, 1, &slow_queue);
    submit(*fast, direction::read, i, 1, &fast_queue);
  }
  clock.run_until_idle();
  for (size_t i = 0; i < transfers.size(); ++i)
    EXPECT_EQ(transfers[i].ended, (i / 2 + 1) * (i % 2 == 0 ? 1000 : 1)) << i;
  EXPECT_EQ(io.disk_at("slow").busy_ns(), 10'000U);
  EXPECT_EQ(io.disk_at("fast").num_transfers(), 10U);
  EXPECT_EQ(io.disk_at("").num_transfers(), 0U);
}

TEST_F(simulated_backend_test, a_path_is_a_folder_not_a_prefix) {
  io.attach("disk1", uniform(1, 1000));
  const auto other = file::in_memory("disk10", 10);
  EXPECT_EQ((submit(*other, direction::read, 0, 1), clock.run_until_idle()), 1U);
}

TEST_F(simulated_backend_test, the_depth_of_a_queue_is_never_exceeded) {
  disk_model model = uniform(1, 1);
  model.latency_ns = 1000;
  model.latency_when_sequential = true;
  model.depth = 64;
  io.attach("d", model);
  const auto memory = file::in_memory("d", 1000);
  // With a depth of q, each round of q transfers costs one latency.
  for (const unsigned depth : {1U, 3U, 10U, 64U}) {
    disk_queue queue(depth);
    const uint64_t started = clock.now();
    for (uint64_t i = 0; i < 60; ++i) submit(*memory, direction::read, i, 1, &queue);
    EXPECT_EQ(clock.num_events(), std::min(depth, 60U)) << "transfers with the device";
    const uint64_t num_rounds = (60 + depth - 1) / depth;
    const uint64_t took = clock.run_until_idle() - started;
    EXPECT_GE(took, num_rounds * 1000);
    EXPECT_LE(took, num_rounds * 1000 + 60);
    for (transfer& t : transfers) t.one.take_result();
    transfers.clear();
  }
}

TEST_F(simulated_backend_test, a_waiting_write_goes_before_all_waiting_reads) {
  const auto memory = file::in_memory("m", 1000);
  disk_queue queue(1, service_order::writes_first);
  for (uint64_t i = 0; i < 6; ++i) submit(*memory, i % 2 == 0 ? direction::read : direction::write, i * 10, 10, &queue);
  clock.advance(35);  // reads 0; writes 1 and 3; write 5 is under way
  submit(*memory, direction::write, 200, 10, &queue);
  clock.run_until_idle();
  std::vector<uint64_t> ends;
  for (const transfer& t : transfers) ends.push_back(t.ended);
  EXPECT_THAT(ends, ElementsAre(10, 20, 60, 30, 70, 40, 50));
}

TEST_F(simulated_backend_test, statistics_are_in_simulated_time) {
  const auto memory = file::in_memory("m", 1000);
  disk_statistics statistics("m", io.time());
  submit(*memory, direction::read, 0, 100, nullptr, &statistics);
  submit(*memory, direction::read, 100, 100, nullptr, &statistics);
  clock.advance(150);
  EXPECT_EQ(statistics.snapshot().busy_ns, 150U);
  EXPECT_EQ(statistics.snapshot().reads.in_flight, 1U);
  clock.run_until_idle();
  clock.advance(1000);
  const disk_snapshot s = statistics.snapshot();
  EXPECT_EQ(s.reads.num_operations, 2U);
  EXPECT_EQ(s.reads.num_bytes, 200U);
  EXPECT_EQ(s.reads.service_ns, 100U + 200U);
  EXPECT_EQ(s.busy_ns, 200U);
}

TEST_F(simulated_backend_test, the_same_run_gives_the_same_times) {
  const auto run = [] {
    event_clock clock;
    simulated_backend io(clock, shrunk(ibm_120gxp(), 128));
    const auto memory = file::in_memory("m", 1 << 20);
    disk_queue queue(2, service_order::writes_first);
    std::deque<request> requests(200);
    std::vector<std::byte> data(4096);
    std::vector<uint64_t> times;
    for (size_t i = 0; i < requests.size(); ++i) {
      prepare(requests[i], *memory, i % 3 == 0 ? direction::write : direction::read, i * 7919 % 250 * 4096, data.data(),
              4096);
      requests[i].disk = &queue;
      io.submit(requests[i]);
    }
    while (clock.run_next()) times.push_back(clock.now());
    return times;
  };
  const std::vector<uint64_t> first = run();
  EXPECT_EQ(first.size(), 200U);
  EXPECT_EQ(first, run());
}

}  // namespace
}  // namespace flowrun::io
