// The contract: waiting, cancelling, and the order in which a disk's queue lets requests through.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <numeric>

#include "engine/base/error.h"
#include "engine/io/disk_queue.h"
#include "engine/io/file.h"
#include "tests/engine/io/backend_contract.h"
#include "tests/support/wakers.h"

namespace flowrun::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class backend_order : public backend_contract {
 protected:
  void SetUp() override {
    backend_contract::SetUp();
    if (IsSkipped()) return;
    scratch = file::open(home.path(), open_mode::scratch);
    scratch->truncate(1000);
  }
  // Requests of one byte each, request i at offset i, ready to be submitted.
  struct many {
    many(file& target, size_t num_requests, disk_queue* queue = nullptr)
        : requests(num_requests), log_wakers(num_requests) {
      for (size_t i = 0; i < num_requests; ++i) {
        prepare(requests[i], target, direction::read, i, &bytes[i % bytes.size()], 1);
        requests[i].disk = queue;
        log_wakers[i].log = &log;
        log_wakers[i].number = i;
        requests[i].on_done = &log_wakers[i];
        list.push_back(&requests[i]);
      }
    }
    // Until each waker was called: the wakers live no longer than this object.
    std::vector<size_t> order() {
      wait_all(list);
      for (;;) {
        std::lock_guard lock(log.mutex);
        if (log.order.size() >= requests.size()) return log.order;
      }
    }
    std::deque<request> requests;
    std::deque<logging_waker> log_wakers;
    finish_log log;
    std::vector<request*> list;
    std::array<std::byte, 1000> bytes{};
  };
  std::unique_ptr<file> scratch;
};

TEST_P(backend_order, waits_for_all) {
  many m(*scratch, 40);
  io().submit(m.list);
  let_time_pass();
  wait_all(m.list);
  for (request* r : m.list) EXPECT_EQ(r->take_result(), 1U);
  wait_all(m.list);  // idle ones don't count
  EXPECT_EQ(m.order().size(), 40U);
}

TEST_P(backend_order, waits_for_any) {
  for (int round = 0; round < 500; ++round) {
    request idle;
    std::byte data[5]{};
    std::deque<request> requests(5);
    std::vector<request*> list{&idle};
    for (size_t i = 0; i < requests.size(); ++i) {
      prepare(requests[i], *scratch, i % 2 == 0 ? direction::read : direction::write, i, &data[i], 1);
      list.push_back(&requests[i]);
    }
    io().submit(std::span(list).subspan(1));
    let_time_pass();
    std::vector<size_t> ended;
    while (ended.size() < requests.size()) {
      const size_t i = wait_any(list);
      ASSERT_TRUE(list[i]->done());
      ASSERT_EQ(list[i]->take_result(), 1U);
      ended.push_back(i);
    }
    std::sort(ended.begin(), ended.end());
    ASSERT_THAT(ended, ElementsAre(1, 2, 3, 4, 5));
  }
}

TEST_P(backend_order, polls_without_waiting) {
  std::byte one{};
  request idle;
  request r;
  prepare(r, *scratch, direction::read, 0, &one, 1);
  request* list[] = {&idle, &r};
  EXPECT_EQ(poll_any(list), std::nullopt);
  io().submit(r);
  let_time_pass();
  while (!poll_any(list)) std::this_thread::yield();
  EXPECT_EQ(poll_any(list), 1U);
  EXPECT_EQ(r.take_result(), 1U);
  EXPECT_EQ(poll_any(list), std::nullopt);
}

TEST_P(backend_order, a_waiting_request_can_be_cancelled) {
  disk_queue queue(1, service_order::arrival, true);
  // The only place is taken, by a request that no backend knows.
  request blocker;
  request_queue admitted;
  blocker.offset = 999;
  queue.enter(blocker, admitted);
  ASSERT_EQ(admitted.pop(), &blocker);

  std::byte one{7};
  counting_waker counter;
  request r;
  prepare(r, *scratch, direction::write, 3, &one, 1);
  r.disk = &queue;
  r.on_done = &counter;
  io().submit(r);
  let_time_pass();
  EXPECT_TRUE(r.in_flight());
  EXPECT_TRUE(io().cancel(r));
  EXPECT_TRUE(r.done());
  EXPECT_FALSE(io().cancel(r)) << "it is over already";
  EXPECT_EQ(counter.num_wakes(), 1);
  try {
    r.take_result();
    FAIL() << "no error";
  } catch (const error& failure) {
    EXPECT_EQ(failure.kind(), error_kind::cancelled);
    EXPECT_THAT(failure.what(), HasSubstr(scratch->path()));
    EXPECT_THAT(failure.what(), HasSubstr("offset 3"));
  }
  EXPECT_FALSE(io().cancel(r)) << "it is idle";

  // Nothing was written, and the place in the queue is free for the same block.
  queue.leave(blocker, admitted);
  EXPECT_TRUE(admitted.empty());
  one = std::byte{1};
  prepare(r, *scratch, direction::read, 3, &one, 1);
  EXPECT_EQ(transfer(r), 1U);
  EXPECT_EQ(one, std::byte{0});
  counter.wait_for(2);
}

TEST_P(backend_order, it_is_too_late_to_cancel_what_has_ended) {
  std::byte one{};
  counting_waker counter;
  request r;
  prepare(r, *scratch, direction::read, 0, &one, 1);
  r.on_done = &counter;
  io().submit(r);
  let_time_pass();
  r.wait();
  EXPECT_FALSE(io().cancel(r));
  EXPECT_EQ(r.take_result(), 1U);
  counter.wait_for(1);
  take_down();
  EXPECT_EQ(counter.num_wakes(), 1);
}

// Requests are cancelled while others end: each ends in exactly one way, and cancel() says which.
TEST_P(backend_order, cancelling_races_with_ending) {
  for (int round = 0; round < 200; ++round) {
    disk_queue queue(2);
    many m(*scratch, 10, &queue);
    io().submit(m.list);
    std::vector<bool> cancelled(m.list.size());
    for (size_t i = m.list.size(); i-- > 0;) cancelled[i] = io().cancel(*m.list[i]);
    let_time_pass();
    EXPECT_EQ(m.order().size(), m.list.size());
    for (size_t i = 0; i < m.list.size(); ++i) {
      if (cancelled[i]) {
        EXPECT_THROW(m.list[i]->take_result(), error);
      } else {
        EXPECT_EQ(m.list[i]->take_result(), 1U);
      }
    }
    EXPECT_FALSE(cancelled[0]) << "it was under way at once";
  }
}

TEST_P(backend_order, one_at_a_time_ends_in_the_order_of_arrival) {
  disk_queue queue(1);
  many m(*scratch, 200, &queue);
  for (size_t i = 0; i < 200; i += 3) m.requests[i].way = direction::write;
  io().submit(m.list);
  let_time_pass();
  std::vector<size_t> expected(200);
  std::iota(expected.begin(), expected.end(), size_t{0});
  EXPECT_EQ(m.order(), expected);
}

TEST_P(backend_order, no_more_than_its_depth_is_under_way) {
  constexpr size_t depth = 3;
  disk_queue queue(depth);
  many m(*scratch, 300, &queue);
  io().submit(m.list);
  let_time_pass();
  const std::vector<size_t> order = m.order();
  // The i-th may start once i + 1 - depth have left the queue; depth - 1 of them at most may be just about to report.
  for (size_t at = 0; at < order.size(); ++at) EXPECT_GE(at + 2 * depth, order[at] + 2) << at;
}

TEST_P(backend_order, writes_go_first_where_the_queue_says_so) {
  disk_queue queue(1, service_order::writes_first);
  many m(*scratch, 8, &queue);
  for (const size_t i : {2, 5, 6}) m.requests[i].way = direction::write;
  io().submit(m.list);  // in one go: the first is under way, the others wait
  let_time_pass();
  EXPECT_THAT(m.order(), ElementsAre(0, 2, 5, 6, 1, 3, 4, 7));
}

TEST_P(backend_order, queues_do_not_wait_for_each_other) {
  disk_queue blocked(1);
  request blocker;
  request_queue admitted;
  blocked.enter(blocker, admitted);
  request stuck;
  std::byte one{};
  prepare(stuck, *scratch, direction::read, 0, &one, 1);
  stuck.disk = &blocked;
  io().submit(stuck);
  disk_queue open(1);
  many m(*scratch, 20, &open);
  io().submit(m.list);
  let_time_pass();
  EXPECT_EQ(m.order().size(), 20U);
  EXPECT_TRUE(stuck.in_flight());
  EXPECT_TRUE(io().cancel(stuck));
}

using backend_order_death = backend_order;

TEST_P(backend_order_death, no_write_of_a_block_that_is_read) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        std::filesystem::remove_all(home.path());  // this process has one of its own and ends without destructors
        disk_queue queue(1, service_order::arrival, true);
        many m(*scratch, 2, &queue);
        m.requests[1].offset = m.requests[0].offset;
        m.requests[1].way = direction::write;  // readers may share a block
        io().submit(m.list);
      },
      "read_.contains");
}

TEST_P(backend_order, a_block_may_come_again_after_its_transfer) {
  disk_queue queue(4, service_order::arrival, true);
  many m(*scratch, 30, &queue);
  for (int round = 0; round < 3; ++round) {
    io().submit(m.list);
    let_time_pass();
    wait_all(m.list);
    for (request* r : m.list) EXPECT_EQ(r->take_result(), 1U);
    for (uint64_t offset = 0; offset < 30; ++offset) EXPECT_FALSE(queue.in_flight(offset));
  }
  for (;;) {  // until the last waker was called
    std::lock_guard lock(m.log.mutex);
    if (m.log.order.size() == 90) break;
  }
}

INSTANTIATE_TEST_SUITE_P(each, backend_order, contract_backends, contract_label);
INSTANTIATE_TEST_SUITE_P(each, backend_order_death, contract_backends, contract_label);

}  // namespace
}  // namespace flowrun::io
