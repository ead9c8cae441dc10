#include "engine/io/disk_queue.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "engine/base/error.h"

namespace flowrun::io {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(offset_set, keeps_what_was_put_in) {
  offset_set set;
  EXPECT_FALSE(set.contains(0));
  EXPECT_TRUE(set.insert(0));
  EXPECT_FALSE(set.insert(0));
  EXPECT_TRUE(set.contains(0));
  set.erase(5);  // never there
  set.erase(0);
  EXPECT_FALSE(set.contains(0));
  EXPECT_TRUE(set.insert(0));
}

TEST(offset_set, agrees_with_std_set) {
  std::mt19937_64 random(1);
  for (const uint64_t step : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 32}) {
    offset_set set;
    std::set<uint64_t> reference;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t offset = random() % 200 * step;
      if (random() % 2 == 0) {
        EXPECT_EQ(set.insert(offset), reference.insert(offset).second);
      } else {
        set.erase(offset);
        reference.erase(offset);
      }
      const uint64_t other = random() % 200 * step;
      EXPECT_EQ(set.contains(other), reference.count(other) == 1);
    }
  }
}

// A queue and requests with numbers: what is admitted is told by number.
class disk_queue_test : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < requests.size(); ++i) requests[i].offset = i * 4096;
  }
  std::vector<size_t> numbers(request_queue& admitted) {
    std::vector<size_t> result;
    while (request* const r = admitted.pop())
      for (size_t i = 0; i < requests.size(); ++i)
        if (r == &requests[i]) result.push_back(i);
    return result;
  }
  std::vector<size_t> enter(disk_queue& queue, std::initializer_list<size_t> list) {
    request_queue admitted;
    for (const size_t i : list) queue.enter(requests[i], admitted);
    return numbers(admitted);
  }
  std::vector<size_t> leave(disk_queue& queue, size_t i) {
    request_queue admitted;
    queue.leave(requests[i], admitted);
    return numbers(admitted);
  }
  std::deque<request> requests = std::deque<request>(20);
};

TEST_F(disk_queue_test, admits_as_many_as_its_depth_in_order_of_arrival) {
  disk_queue queue(3);
  EXPECT_EQ(queue.depth(), 3U);
  EXPECT_THAT(enter(queue, {0, 1, 2, 3, 4, 5}), ElementsAre(0, 1, 2));
  EXPECT_THAT(leave(queue, 1), ElementsAre(3));
  EXPECT_THAT(leave(queue, 0), ElementsAre(4));
  EXPECT_THAT(leave(queue, 4), ElementsAre(5));
  EXPECT_THAT(leave(queue, 2), IsEmpty());
  EXPECT_THAT(enter(queue, {6, 7}), ElementsAre(6));
}

TEST_F(disk_queue_test, arrival_makes_no_difference_between_reads_and_writes) {
  disk_queue queue(1);
  requests[2].way = direction::write;
  enter(queue, {0, 1, 2, 3});
  EXPECT_THAT(leave(queue, 0), ElementsAre(1));
  EXPECT_THAT(leave(queue, 1), ElementsAre(2));
  EXPECT_THAT(leave(queue, 2), ElementsAre(3));
}

TEST_F(disk_queue_test, writes_first) {
  disk_queue queue(1, service_order::writes_first);
  for (const size_t i : {3, 4, 6}) requests[i].way = direction::write;
  EXPECT_THAT(enter(queue, {0, 1, 2, 3, 4}), ElementsAre(0));
  EXPECT_THAT(leave(queue, 0), ElementsAre(3));
  enter(queue, {5, 6});
  EXPECT_THAT(leave(queue, 3), ElementsAre(4));
  EXPECT_THAT(leave(queue, 4), ElementsAre(6));
  EXPECT_THAT(leave(queue, 6), ElementsAre(1));
  EXPECT_THAT(leave(queue, 1), ElementsAre(2));
  EXPECT_THAT(leave(queue, 2), ElementsAre(5));
}

TEST_F(disk_queue_test, alternating) {
  disk_queue queue(1, service_order::alternating);
  for (const size_t i : {3, 4, 6, 7, 8}) requests[i].way = direction::write;
  EXPECT_THAT(enter(queue, {0, 1, 2, 3, 4, 5}), ElementsAre(0));
  EXPECT_THAT(leave(queue, 0), ElementsAre(1));  // two reads,
  EXPECT_THAT(leave(queue, 1), ElementsAre(3));
  EXPECT_THAT(leave(queue, 3), ElementsAre(4));  // two writes,
  enter(queue, {6, 7, 8});
  EXPECT_THAT(leave(queue, 4), ElementsAre(2));
  EXPECT_THAT(leave(queue, 2), ElementsAre(5));  // and so on
  EXPECT_THAT(leave(queue, 5), ElementsAre(6));
  EXPECT_THAT(leave(queue, 6), ElementsAre(7));
  EXPECT_THAT(leave(queue, 7), ElementsAre(8));  // nothing else waits any more
  enter(queue, {9});
  EXPECT_THAT(leave(queue, 8), ElementsAre(9));
}

TEST_F(disk_queue_test, withdraws_what_waits) {
  for (const service_order order : {service_order::arrival, service_order::writes_first, service_order::alternating}) {
    disk_queue queue(1, order);
    for (request& r : requests) r.next = r.previous = nullptr;
    enter(queue, {0, 1, 2, 3, 4, 5});
    EXPECT_FALSE(queue.withdraw(requests[0])) << "under way";
    EXPECT_FALSE(queue.withdraw(requests[9])) << "never seen";
    EXPECT_TRUE(queue.withdraw(requests[1]));  // the first
    EXPECT_TRUE(queue.withdraw(requests[3]));  // in the middle
    EXPECT_TRUE(queue.withdraw(requests[5]));  // the last
    EXPECT_FALSE(queue.withdraw(requests[3])) << "twice";
    EXPECT_THAT(enter(queue, {6}), IsEmpty());
    EXPECT_THAT(leave(queue, 0), ElementsAre(2));
    EXPECT_THAT(leave(queue, 2), ElementsAre(4));
    EXPECT_THAT(leave(queue, 4), ElementsAre(6));
    EXPECT_THAT(leave(queue, 6), IsEmpty());
  }
}

TEST_F(disk_queue_test, an_exclusive_queue_knows_its_blocks) {
  disk_queue queue(1, service_order::arrival, true);
  enter(queue, {0, 1, 2});
  for (const size_t i : {0, 1, 2}) EXPECT_TRUE(queue.in_flight(i * 4096));
  EXPECT_FALSE(queue.in_flight(3 * 4096));
  EXPECT_TRUE(queue.withdraw(requests[2]));
  EXPECT_FALSE(queue.in_flight(2 * 4096));
  leave(queue, 0);
  EXPECT_FALSE(queue.in_flight(0));
  EXPECT_TRUE(queue.in_flight(4096));
  requests[5].offset = 4096;
  requests[5].way = direction::write;
  EXPECT_THROW(enter(queue, {5}), error);
  requests[6].offset = 0;
  enter(queue, {6});
}

TEST_F(disk_queue_test, other_queues_take_the_same_offset_twice) {
  disk_queue queue(2);
  requests[1].offset = 0;
  EXPECT_THAT(enter(queue, {0, 1}), ElementsAre(0, 1));
}

// In any traffic there are never more transfers than the depth, none is lost, none comes twice, and the order within a
// direction is kept.
TEST_F(disk_queue_test, random_traffic) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const unsigned depth = 1 + seed % 5;
    const auto order = static_cast<service_order>(seed % 3);
    disk_queue queue(depth, order, true);
    std::vector<size_t> idle(requests.size()), waiting, under_way;
    for (size_t i = 0; i < idle.size(); ++i) idle[i] = i;
    const auto take = [&](std::vector<size_t>& from) {
      std::swap(from[random() % from.size()], from.back());
      const size_t i = from.back();
      from.pop_back();
      return i;
    };
    const auto admit = [&](const std::vector<size_t>& admitted) {
      for (const size_t i : admitted) {
        const auto at = std::find(waiting.begin(), waiting.end(), i);
        ASSERT_NE(at, waiting.end());
        for (auto before = waiting.begin(); before != at; ++before)
          ASSERT_TRUE(requests[*before].way != requests[i].way &&
                      (order == service_order::alternating ||
                       (order == service_order::writes_first && requests[i].way == direction::write)));
        waiting.erase(at);
        under_way.push_back(i);
      }
    };
    for (int step = 0; step < 500; ++step) {
      const unsigned choice = random() % 5;
      if (choice < 2 && !idle.empty()) {
        const size_t i = take(idle);
        requests[i].way = random() % 2 == 0 ? direction::read : direction::write;
        requests[i].next = requests[i].previous = nullptr;
        waiting.push_back(i);
        admit(enter(queue, {i}));
      } else if (choice < 4 && !under_way.empty()) {
        const size_t i = take(under_way);
        idle.push_back(i);
        admit(leave(queue, i));
      } else if (choice == 4 && !waiting.empty()) {
        const auto at = waiting.begin() + random() % waiting.size();
        const size_t i = *at;
        waiting.erase(at);
        EXPECT_TRUE(queue.withdraw(requests[i]));
        idle.push_back(i);
      }
      ASSERT_LE(under_way.size(), depth);
      ASSERT_TRUE(under_way.size() == depth || waiting.empty()) << "a place is free and somebody waits";
    }
  }
}

}  // namespace
}  // namespace flowrun::io
