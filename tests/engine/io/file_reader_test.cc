#include "engine/io/file_reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/statistics.h"
#include "tests/engine/io/each_backend.h"
#include "tests/support/byte_files.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;

// The next chunk, waiting for it; empty at the end.
chunk next_chunk(file_reader& reader) {
  blocking_waker waker;
  for (;;) {
    chunk c;
    const outcome o = reader.next(c, &waker);
    if (o.is_ready()) return c;
    if (o.is_done()) return {};
    waker.wait();
  }
}

std::vector<std::byte> read_all(file_reader& reader, uint64_t begin = 0) {
  std::vector<std::byte> all;
  for (chunk c = next_chunk(reader); c.owner != nullptr; c = next_chunk(reader)) {
    EXPECT_GT(c.num_bytes, 0U);
    EXPECT_EQ(c.offset, begin + all.size());
    all.insert(all.end(), c.data, c.data + c.num_bytes);
  }
  return all;
}

class file_reader_test : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::io_uring && !io_uring_refusal().empty()) GTEST_SKIP() << io_uring_refusal();
    io = make_backend(GetParam(), 4);
  }
  temporary_directory home;
  std::unique_ptr<backend> io;
};

TEST_P(file_reader_test, reads_any_range_in_any_chunks) {
  const auto content = random_bytes(300'001);
  store(home / "in", content);
  std::mt19937 random(7);
  auto below = [&](size_t bound) { return random() % bound; };
  for (int round = 0; round < 120; ++round) {
    file_reader_options options;
    options.chunk_bytes = round % 3 == 0 ? 4096 * (1 + below(16)) : 1 + below(round % 3 == 1 ? 100'000 : 10'000);
    options.depth = 1 + static_cast<unsigned>(below(6));
    options.max_held = 1 + static_cast<unsigned>(below(3));
    options.cache = round % 2 == 0 ? caching::direct : caching::buffered;
    const size_t begin = round % 5 == 0 ? 0 : below(content.size());
    const size_t end = round % 7 == 0 ? content.size() : begin + below(content.size() - begin + 1);
    file_reader reader(*io, home / "in", options, begin, end);
    SCOPED_TRACE(testing::Message() << "chunks of " << options.chunk_bytes << ", " << begin << " to " << end);
    EXPECT_EQ(reader.num_bytes(), end - begin);
    const auto got = read_all(reader, begin);
    ASSERT_TRUE(std::equal(got.begin(), got.end(), content.begin() + static_cast<ptrdiff_t>(begin),
                           content.begin() + static_cast<ptrdiff_t>(end)));
  }
}

TEST_P(file_reader_test, tiny_chunks_end_on_their_grid) {
  const auto content = random_bytes(1000);
  store(home / "in", content);
  file_reader reader(*io, home / "in", {.chunk_bytes = 7}, 3);
  EXPECT_EQ(next_chunk(reader).num_bytes, 4U);
  EXPECT_EQ(next_chunk(reader).num_bytes, 7U);
  EXPECT_EQ(read_all(reader, 14).size(), 986U);
}

TEST_P(file_reader_test, ranges_end_with_the_file) {
  store(home / "in", random_bytes(100));
  file_reader beyond(*io, home / "in", {}, 90, 1000);
  EXPECT_EQ(read_all(beyond, 90).size(), 10U);
  file_reader behind(*io, home / "in", {}, 200, 1000);
  EXPECT_EQ(behind.num_bytes(), 0U);
  EXPECT_EQ(read_all(behind).size(), 0U);
  store(home / "empty", {});
  file_reader empty(*io, home / "empty");
  EXPECT_EQ(read_all(empty).size(), 0U);
}

TEST_P(file_reader_test, leaves_chunks_out) {
  const auto content = random_bytes(300'001);
  store(home / "in", content);
  for (const size_t chunk_bytes : {4096U, 1000U}) {
    file_reader reader(*io, home / "in", {.chunk_bytes = chunk_bytes, .cache = caching::direct, .ahead_at_once = false},
                       12'345);
    for (const uint64_t offset : {12'400, 50'000, 60'000, 200'000, 300'000}) {
      reader.skip_to(offset);
      const chunk c = next_chunk(reader);
      EXPECT_EQ(c.offset, std::max<uint64_t>(12'345, offset / chunk_bytes * chunk_bytes));
      ASSERT_TRUE(std::equal(c.data, c.data + c.num_bytes, content.begin() + static_cast<ptrdiff_t>(c.offset)));
    }
    reader.skip_to(300'001);
    EXPECT_EQ(next_chunk(reader).owner, nullptr);
  }
}

TEST_P(file_reader_test, recycles_buffers_and_blocks_while_all_are_held) {
  const auto content = random_bytes(64 * 4096);
  store(home / "in", content);
  blocking_waker waker;  // outlives the reader
  file_reader reader(*io, home / "in", {.chunk_bytes = 4096, .depth = 2, .max_held = 3, .cache = caching::direct});
  std::deque<chunk> held;
  for (int i = 0; i < 5; ++i) held.push_back(next_chunk(reader));
  chunk none;
  ASSERT_EQ(reader.next(none, &waker), outcome::blocked());
  EXPECT_EQ(none.owner, nullptr);
  const std::byte* const recycled = held.front().data;
  std::thread consumer([&] { held.pop_front(); });
  waker.wait();  // a release wakes
  consumer.join();
  const chunk sixth = next_chunk(reader);
  EXPECT_EQ(sixth.data, recycled);
  EXPECT_EQ(sixth.offset, 5U * 4096);
  for (const chunk& c : held)
    EXPECT_TRUE(std::equal(c.data, c.data + c.num_bytes, content.begin() + static_cast<ptrdiff_t>(c.offset)));
}

TEST_P(file_reader_test, chunks_outlive_the_reader) {
  const auto content = random_bytes(10000);
  store(home / "in", content);
  auto reader = std::make_unique<file_reader>(*io, home / "in", file_reader_options{.chunk_bytes = 4096});
  const chunk first = next_chunk(*reader);
  reader.reset();
  io.reset();
  EXPECT_TRUE(std::equal(first.data, first.data + first.num_bytes, content.begin()));
}

TEST_P(file_reader_test, may_be_given_up_at_any_time) {
  store(home / "in", random_bytes(1'000'000));
  for (int taken = 0; taken < 20; ++taken) {
    blocking_waker waker;  // outlives the reader
    file_reader reader(*io, home / "in", {.chunk_bytes = 8192, .depth = 8});
    for (int i = 0; i < taken; ++i) next_chunk(reader);
    chunk c;
    (void)reader.next(c, &waker);
  }
}

TEST_P(file_reader_test, notices_a_file_that_shrinks) {
  store(home / "in", random_bytes(100'000));
  file_reader reader(*io, home / "in", {.chunk_bytes = 4096, .depth = 1});
  EXPECT_EQ(next_chunk(reader).num_bytes, 4096U);
  ASSERT_EQ(truncate((home / "in").c_str(), 10'000), 0);
  for (int i = 0; i < 2; ++i) {
    try {
      read_all(reader, 4096);
      FAIL() << "no error";
    } catch (const error& failure) {
      EXPECT_EQ(failure.kind(), error_kind::bad_data);
      EXPECT_THAT(failure.what(), HasSubstr("shorter"));
      EXPECT_THAT(failure.what(), HasSubstr("ended at 10000"));
    }
  }
}

TEST_P(file_reader_test, reports_a_failing_disk_and_goes_no_further) {
  const auto content = random_bytes(100'000);
  store(home / "in", content);
  for (uint64_t nth = 1; nth <= 25; nth += 4) {
    faulty_backend faulty(make_backend(GetParam()), {{.nth = nth, .what = injected_fault::effect::fail, .value = EIO}});
    file_reader reader(faulty, home / "in", {.chunk_bytes = 4096, .depth = 3});
    for (uint64_t i = 1; i < nth; ++i) EXPECT_EQ(next_chunk(reader).offset, (i - 1) * 4096);
    for (int i = 0; i < 2; ++i) {
      try {
        next_chunk(reader);
        FAIL() << "no error";
      } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::io);
        EXPECT_THAT(failure.what(), HasSubstr(home / "in"));
        EXPECT_THAT(failure.what(), HasSubstr("Input/output error"));
      }
    }
  }
}

TEST_P(file_reader_test, counts_in_the_statistics) {
  store(home / "in", random_bytes(100'000));
  disk_statistics disk("inputs");
  file_reader reader(*io, home / "in", {.chunk_bytes = 50'000, .cache = caching::buffered}, 0, UINT64_MAX, &disk);
  read_all(reader);
  EXPECT_EQ(disk.snapshot().reads.num_bytes, 100'000U);
  EXPECT_EQ(disk.snapshot().reads.num_operations, 2U);
}

TEST_P(file_reader_test, reads_pipes) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto content = random_bytes(300'000);
  for (const uint64_t begin : {0, 70'000}) {
    std::thread writer([&] { store(path, content); });
    disk_statistics disk("pipe");
    file_reader reader(*io, path, {.chunk_bytes = 10'000, .depth = 2, .max_held = 1}, begin, UINT64_MAX, &disk);
    EXPECT_TRUE(reader.is_stream());
    EXPECT_EQ(reader.num_bytes(), std::nullopt);
    const auto got = read_all(reader, begin);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), content.begin() + static_cast<ptrdiff_t>(begin), content.end()));
    EXPECT_EQ(disk.snapshot().reads.num_bytes, content.size());
    writer.join();
  }
}

TEST_P(file_reader_test, reads_a_part_of_a_pipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto content = random_bytes(5'000);
  ASSERT_EQ(write(ends[1], content.data(), content.size()), 5'000);
  file_reader reader(*io, "/dev/fd/" + std::to_string(ends[0]), {.chunk_bytes = 1'000}, 500, 3'200);
  const auto got = read_all(reader, 500);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), content.begin() + 500, content.begin() + 3'200));
  close(ends[0]);
  close(ends[1]);
}

TEST_P(file_reader_test, a_silent_pipe_does_not_hold_it) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  blocking_waker waker;  // outlives the reader
  file_reader reader(*io, path);
  chunk c;
  EXPECT_EQ(reader.next(c, &waker), outcome::blocked());
}

TEST_P(file_reader_test, a_pipe_blocks_while_all_chunks_are_held) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { store(path, random_bytes(5'000)); });
  blocking_waker waker;  // outlives the reader
  file_reader reader(*io, path, {.chunk_bytes = 100, .depth = 1, .max_held = 1});
  std::vector<chunk> held{next_chunk(reader), next_chunk(reader)};
  chunk none;
  ASSERT_EQ(reader.next(none, &waker), outcome::blocked());
  held.clear();
  EXPECT_EQ(read_all(reader, 200).size(), 4'800U);
  writer.join();
}

TEST_P(file_reader_test, reads_files_without_a_length) {
  file_reader reader(*io, "/proc/self/maps");
  EXPECT_TRUE(reader.is_stream());
  EXPECT_GT(read_all(reader).size(), 100U);
}

INSTANTIATE_TEST_SUITE_P(each, file_reader_test, each_backend, backend_label);

TEST(file_reader, uses_the_page_cache_where_it_holds_the_file) {
  const temporary_directory home;
  const auto content = random_bytes(4'000'000);
  store(home / "in", content);  // written just now: cached
  const auto io = make_backend(backend_kind::memory);
  file_reader reader(*io, home / "in");
  EXPECT_FALSE(reader.is_direct());
  EXPECT_EQ(read_all(reader), content);
}

TEST(file_reader, takes_no_file_that_was_cut_off_in_its_header_for_a_text) {
  const temporary_directory home;
  const auto io = make_backend(backend_kind::memory);
  file_reader_options options;
  options.decoding = decoding_options{.memory_bytes = 8 << 20};
  const std::vector<std::pair<const char*, std::string>> beginnings = {{"gz", {"\x1f\x8b\x08", 3}},
                                                                       {"zst", {"\x28\xb5\x2f", 3}},
                                                                       {"xz",
                                                                        {"\xfd"
                                                                         "7zXZ",
                                                                         5}},
                                                                       {"bz2", "BZh91AY&S"}};
  for (const auto& [ending, beginning] : beginnings)
    for (size_t size = 0; size <= beginning.size(); ++size) {
      const std::string path = home / (std::string("in.") + ending);
      std::vector<std::byte> content(size);
      std::transform(beginning.begin(), beginning.begin() + static_cast<std::ptrdiff_t>(size), content.begin(),
                     [](char c) { return std::byte(c); });
      store(path, content);
      if (ending == std::string("gz") && size >= 2) continue;  // two bytes tell
      try {
        file_reader reader(*io, path, options);
        read_all(reader);
        ADD_FAILURE() << ending << " of " << size << " bytes was read";
      } catch (const error& failure) {
        EXPECT_EQ(failure.kind(), error_kind::bad_data);
        EXPECT_THAT(failure.what(), HasSubstr("it is cut off"));
      }
      store(home / "in.txt", content);
      file_reader plain(*io, home / "in.txt", options);
      EXPECT_EQ(read_all(plain), content);
    }
}

TEST(file_reader, says_what_is_missing) {
  const auto io = make_backend(backend_kind::memory);
  for (const char* path : {"/no/such/file", "/tmp"}) {
    try {
      file_reader reader(*io, path);
      FAIL() << "no error";
    } catch (const error& failure) {
      EXPECT_EQ(failure.kind(), error_kind::missing_input);
      EXPECT_THAT(failure.what(), HasSubstr(path));
    }
  }
}

}  // namespace
}  // namespace flowrun::io
