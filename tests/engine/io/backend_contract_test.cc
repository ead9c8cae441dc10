// The contract: what is transferred, counted and reported (when and in which order: backend_order_test.cc).
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/file.h"
#include "engine/io/statistics.h"
#include "tests/engine/io/backend_contract.h"
#include "tests/support/wakers.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;

TEST_P(backend_contract, has_the_name_of_its_kind) { EXPECT_EQ(io().name(), GetParam().name); }

TEST_P(backend_contract, reads_what_was_written) {
  for (const bool direct : {false, true}) {
    const auto scratch = file::open(home.path(), open_mode::scratch, {.direct = direct});
    aligned_buffer out(1 * MiB);
    const auto content = random_bytes(1 * MiB);
    std::memcpy(out.data(), content.data(), content.size());
    EXPECT_EQ(transfer(*scratch, direction::write, 64 * KiB, out.data(), 1 * MiB), 1 * MiB);
    aligned_buffer in(1 * MiB);
    EXPECT_EQ(transfer(*scratch, direction::read, 64 * KiB, in.data(), 1 * MiB), 1 * MiB);
    EXPECT_EQ(std::memcmp(in.data(), content.data(), content.size()), 0);
  }
}

TEST_P(backend_contract, serves_files_in_memory) {
  const auto memory = file::in_memory("m");
  auto content = random_bytes(10000);
  EXPECT_EQ(transfer(*memory, direction::write, 5, content.data(), content.size()), content.size());
  std::vector<std::byte> back(20000);
  EXPECT_EQ(transfer(*memory, direction::read, 5, back.data(), back.size()), content.size());
  back.resize(content.size());
  EXPECT_EQ(back, content);
}

// Another process cuts it off and writes it anew. What is read is less, but nothing else happens.
TEST_P(backend_contract, reads_less_of_a_file_that_becomes_shorter_meanwhile) {
  constexpr size_t num_bytes = 4 * MiB;
  store(home / "short", std::vector<std::byte>(num_bytes));
  const auto short_lived = file::open(home / "short", open_mode::read, {.direct = false});
  const std::jthread other([&](const std::stop_token& over) {
    for (bool cut = true; !over.stop_requested(); cut = !cut) {
      ASSERT_EQ(truncate((home / "short").c_str(), cut ? 0 : num_bytes), 0);
      if (!cut) std::this_thread::sleep_for(std::chrono::microseconds(500));  // so that a read begins
    }
  });
  aligned_buffer data(num_bytes);
  for (int i = 0; i < 300; ++i)
    EXPECT_LE(transfer(*short_lived, direction::read, 0, data.data(), num_bytes), num_bytes);
}

TEST_P(backend_contract, reads_short_at_the_end) {
  const auto content = random_bytes(10001);
  store(home / "odd", content);
  for (const bool direct : {false, true}) {
    const auto odd = file::open(home / "odd", open_mode::read, {.direct = direct});
    aligned_buffer data(16 * KiB);
    EXPECT_EQ(transfer(*odd, direction::read, 8192, data.data(), 8192), 1809U);
    EXPECT_EQ(std::memcmp(data.data(), content.data() + 8192, 1809), 0);
    EXPECT_EQ(transfer(*odd, direction::read, 12288, data.data(), 4096), 0U);
    EXPECT_EQ(transfer(*odd, direction::read, 1 * GiB, data.data(), 4096), 0U);
  }
}

TEST_P(backend_contract, carries_many_at_once) {
  constexpr size_t num_requests = 300;  // far more than the queue's depth
  constexpr size_t piece = 8192;
  const auto scratch = file::open(home.path(), open_mode::scratch, {.direct = true});
  aligned_buffer data(num_requests * piece);
  const auto content = random_bytes(num_requests * piece);
  std::memcpy(data.data(), content.data(), content.size());
  std::deque<request> requests(num_requests);
  std::vector<request*> list;
  for (const direction way : {direction::write, direction::read}) {
    if (way == direction::read) std::memset(data.data(), 0, data.num_bytes());
    list.clear();
    for (size_t i = 0; i < num_requests; ++i) {
      const size_t at = (i * 37 % num_requests) * piece;
      prepare(requests[i], *scratch, way, at, data.data() + at, piece);
      list.push_back(&requests[i]);
    }
    io().submit(list);
    let_time_pass();
    for (request& r : requests) {
      r.wait();
      EXPECT_EQ(r.take_result(), piece);
    }
  }
  EXPECT_EQ(std::memcmp(data.data(), content.data(), content.size()), 0);
}

TEST_P(backend_contract, takes_requests_from_threads_that_end) {
  const auto scratch = file::open(home.path(), open_mode::scratch);
  const auto content = random_bytes(64 * 1000);
  std::deque<request> requests(64);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = t * 8; i < t * 8 + 8; ++i) {
        prepare(requests[i], *scratch, direction::write, i * 1000, const_cast<std::byte*>(content.data()) + i * 1000,
                1000);
        io().submit(requests[i]);
      }
    });
  for (std::thread& t : threads) t.join();
  let_time_pass();
  for (request& r : requests) {
    r.wait();
    EXPECT_EQ(r.take_result(), 1000U);
  }
  std::vector<std::byte> back(content.size());
  EXPECT_EQ(scratch->read_at(0, back.data(), back.size()), static_cast<int64_t>(back.size()));
  EXPECT_EQ(back, content);
}

TEST_P(backend_contract, wakes_once_for_each_request) {
  const auto scratch = file::open(home.path(), open_mode::scratch);
  counting_waker counter;
  std::deque<request> requests(50);
  std::byte data[50]{};
  for (size_t i = 0; i < requests.size(); ++i) {
    prepare(requests[i], *scratch, direction::write, i, data + i, 1);
    requests[i].on_done = &counter;
    io().submit(requests[i]);
  }
  let_time_pass();
  counter.wait_for(50);
  for (request& r : requests) {
    EXPECT_TRUE(r.done());
    EXPECT_EQ(r.take_result(), 1U);
    EXPECT_FALSE(r.done());
  }
  take_down();  // its threads are gone: no wake can follow
  EXPECT_EQ(counter.num_wakes(), 50);
}

TEST_P(backend_contract, keeps_an_error_until_it_is_asked_for) {
  store(home / "a", random_bytes(10));
  const auto read_only = file::open(home / "a", open_mode::read);
  std::byte one{};
  request r;
  prepare(r, *read_only, direction::write, 7, &one, 1);
  io().submit(r);
  let_time_pass();
  r.wait();
  ASSERT_TRUE(r.done());
  try {
    r.take_result();
    FAIL() << "no error";
  } catch (const error& failure) {
    EXPECT_EQ(failure.kind(), error_kind::io);
    EXPECT_THAT(failure.what(), HasSubstr(home / "a"));
    EXPECT_THAT(failure.what(), HasSubstr("offset 7"));
    EXPECT_THAT(failure.what(), HasSubstr("Bad file descriptor"));
  }
  // The request is idle again and can be used.
  prepare(r, *read_only, direction::read, 0, &one, 1);
  io().submit(r);
  let_time_pass();
  r.wait();
  EXPECT_EQ(r.take_result(), 1U);
}

TEST_P(backend_contract, counts_what_it_did) {
  const auto scratch = file::open(home.path(), open_mode::scratch);
  disk_statistics disk("d", io().time());
  const uint64_t started = io().time().now();
  auto content = random_bytes(5000);
  request r;
  r.statistics = &disk;
  prepare(r, *scratch, direction::write, 0, content.data(), 5000);
  transfer(r);
  prepare(r, *scratch, direction::read, 1000, content.data(), 5000);
  EXPECT_EQ(transfer(r), 4000U);
  const uint64_t elapsed = io().time().now() - started;
  const disk_snapshot s = disk.snapshot();
  EXPECT_EQ(s.writes.num_operations, 1U);
  EXPECT_EQ(s.writes.num_bytes, 5000U);
  EXPECT_EQ(s.reads.num_operations, 1U);
  EXPECT_EQ(s.reads.num_bytes, 4000U);
  EXPECT_EQ(s.reads.in_flight + s.writes.in_flight, 0U);
  EXPECT_EQ(s.reads.num_errors + s.writes.num_errors, 0U);
  // One after the other: each transfer was all there was, and they fit between the start and now.
  for (const transfer_statistics& one : {s.reads, s.writes}) {
    EXPECT_GT(one.service_ns, 0U);
    EXPECT_EQ(one.service_ns, one.busy_ns);
  }
  EXPECT_EQ(s.busy_ns, s.reads.busy_ns + s.writes.busy_ns);
  EXPECT_LE(s.busy_ns, elapsed);
}

TEST_P(backend_contract, counts_errors) {
  store(home / "a", random_bytes(10));
  const auto read_only = file::open(home / "a", open_mode::read);
  disk_statistics disk("d", io().time());
  std::byte one{};
  for (int i = 0; i < 3; ++i) {
    request r;
    r.statistics = &disk;
    prepare(r, *read_only, direction::write, 0, &one, 1);
    EXPECT_THROW(transfer(r), error);
  }
  const disk_snapshot s = disk.snapshot();
  EXPECT_EQ(s.writes.num_errors, 3U);
  EXPECT_EQ(s.writes.num_operations, 3U);
  EXPECT_EQ(s.writes.num_bytes, 0U);
  EXPECT_EQ(s.writes.in_flight, 0U);
}

// A request may die as soon as wait() has returned or done() is true: run under the sanitizers, this shows it.
TEST_P(backend_contract, does_not_touch_a_request_that_is_done) {
  const auto scratch = file::open(home.path(), open_mode::scratch);
  std::byte one{};
  for (int i = 0; i < 2000; ++i) {
    auto r = std::make_unique<request>();
    prepare(*r, *scratch, direction::write, 0, &one, 1);
    io().submit(*r);
    let_time_pass();
    if (i % 2 == 0)
      r->wait();
    else
      while (!r->done()) std::this_thread::yield();
    ASSERT_EQ(r->take_result(), 1U);
  }
}

TEST_P(backend_contract, rests_and_wakes_up) {
  const auto scratch = file::open(home.path(), open_mode::scratch);
  std::byte one{};
  // One at a time: the backend falls asleep in between.
  for (int i = 0; i < 200; ++i) ASSERT_EQ(transfer(*scratch, direction::write, 0, &one, 1), 1U);
}

INSTANTIATE_TEST_SUITE_P(each, backend_contract, contract_backends, contract_label);

TEST(make_backend, chooses_by_itself) {
  const auto io = make_backend(backend_kind::automatic);
  EXPECT_EQ(io->name(), io_uring_refusal().empty() ? "io_uring" : "threads");
}

TEST(request, waiting_for_nothing_returns_at_once) {
  const request idle;
  idle.wait();
  EXPECT_FALSE(idle.done());
  EXPECT_FALSE(idle.in_flight());
}

// Two requests end while a third thread waits for any of them: none of the wakes may come after wait_any() is back, and
// none may be missed by the next one. (Run under the sanitizers, this shows it.)
TEST(request, waiting_for_any_races_with_ending) {
  const auto memory = file::in_memory("m");
  std::byte one{};
  constexpr int num_rounds = 20'000;
  std::deque<request> requests(2);
  std::vector<request*> list{&requests[0], &requests[1]};
  for (request& r : requests) prepare(r, *memory, direction::read, 0, &one, 1);
  std::atomic<int> round{0};
  std::vector<std::thread> enders;
  for (request& r : requests)
    enders.emplace_back([&r, &round] {
      for (int i = 1; i <= num_rounds; ++i) {
        while (round.load(std::memory_order_acquire) < i) std::this_thread::yield();
        r.complete(i, 0);
      }
    });
  for (int i = 1; i <= num_rounds; ++i) {
    for (request& r : requests) r.start(0);
    round.store(i, std::memory_order_release);
    const size_t first = wait_any(list);
    ASSERT_EQ(list[first]->take_result(), static_cast<size_t>(i));
    const size_t second = wait_any(list);
    ASSERT_EQ(second, 1 - first);
    ASSERT_EQ(list[second]->take_result(), static_cast<size_t>(i));
  }
  for (std::thread& t : enders) t.join();
}

TEST(request, a_full_disk_is_a_lack_of_resources) {
  const auto memory = file::in_memory("out.rows");
  std::byte one{};
  for (const int cause : {ENOSPC, EDQUOT, EFBIG, ENOMEM, EIO}) {
    request r;
    prepare(r, *memory, direction::write, 0, &one, 1);
    r.start(0);
    r.complete(-cause, 1);
    try {
      r.take_result();
      FAIL() << "no error";
    } catch (const error& failure) {
      EXPECT_EQ(failure.kind(), cause == EIO ? error_kind::io : error_kind::resources) << cause;
      EXPECT_THAT(failure.what(), HasSubstr("out.rows"));
      EXPECT_FALSE(failure.hint().empty());
    }
  }
}

}  // namespace
}  // namespace flowrun::io
