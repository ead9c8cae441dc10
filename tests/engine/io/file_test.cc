#include "engine/io/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>
#include <thread>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "tests/support/byte_files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;

TEST(file, says_what_is_missing) {
  const error failure = error_of([] { file::open("/no/such/file", open_mode::read); });
  EXPECT_EQ(failure.kind(), error_kind::missing_input);
  EXPECT_THAT(failure.what(), HasSubstr("/no/such/file"));
  EXPECT_THAT(failure.what(), HasSubstr("No such file"));
  EXPECT_FALSE(failure.hint().empty());
}

TEST(file, refuses_to_read_a_directory) {
  for (const bool direct : {false, true}) {
    const error failure = error_of([&] { file::open("/tmp", open_mode::read, {.direct = direct}); });
    EXPECT_EQ(failure.kind(), error_kind::missing_input);
    EXPECT_THAT(failure.what(), HasSubstr("directory"));
  }
}

TEST(file, never_overwrites) {
  const temporary_directory home;
  store(home / "there", random_bytes(10));
  const error failure = error_of([&] { file::open(home / "there", open_mode::write_new); });
  EXPECT_EQ(failure.kind(), error_kind::output);
  EXPECT_EQ(load(home / "there"), random_bytes(10));
}

TEST(file, scratch_leaves_no_name_behind) {
  const temporary_directory home;
  for (const bool direct : {false, true}) {
    const auto scratch = file::open(home.path(), open_mode::scratch, {.direct = direct});
    EXPECT_EQ(home.num_entries(), 0U);
    struct stat info {};
    ASSERT_EQ(fstat(scratch->descriptor(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(info.st_nlink, 0U);
    aligned_buffer data(8192);
    std::memset(data.data(), 7, 8192);
    EXPECT_EQ(scratch->write_at(4096, data.data(), 8192), 8192);
    EXPECT_EQ(scratch->num_bytes(), 12288U);
    EXPECT_EQ(scratch->read_at(0, data.data(), 8192), 8192);
    EXPECT_EQ(data.data()[0], std::byte{0});
    EXPECT_EQ(data.data()[4096], std::byte{7});
  }
}

TEST(file, scratch_needs_a_directory) {
  const error failure = error_of([] { file::open("/no/such/directory", open_mode::scratch); });
  EXPECT_EQ(failure.kind(), error_kind::output);  // it won't be there when it is tried again
  EXPECT_THAT(failure.what(), HasSubstr("/no/such/directory"));
}

TEST(file, falls_back_where_direct_is_refused) {
  // Nothing in /proc can be read directly.
  const auto version = file::open("/proc/version", open_mode::read, {.direct = true});
  EXPECT_FALSE(version->is_direct());
  std::byte text[5];
  EXPECT_EQ(version->read_at(0, text, 5), 5);
  EXPECT_EQ(std::memcmp(text, "Linux", 5), 0);
}

TEST(file, direct_reads_end_where_the_file_ends) {
  const temporary_directory home;
  const auto content = random_bytes(10000);
  store(home / "odd", content);
  const auto odd = file::open(home / "odd", open_mode::read, {.direct = true});
  aligned_buffer data(16384);
  EXPECT_EQ(odd->read_at(0, data.data(), 16384), 10000);
  EXPECT_EQ(std::memcmp(data.data(), content.data(), content.size()), 0);
  EXPECT_EQ(odd->read_at(8192, data.data(), 4096), 1808);
  EXPECT_EQ(odd->read_at(12288, data.data(), 4096), 0);
}

TEST(file, reserve_extends_and_release_makes_zeros) {
  const temporary_directory home;
  const auto scratch = file::open(home.path(), open_mode::scratch);
  if (!scratch->reserve(0, 1 * MiB)) GTEST_SKIP() << "this file system can't reserve";
  EXPECT_EQ(scratch->num_bytes(), 1 * MiB);
  auto data = random_bytes(8192);
  ASSERT_EQ(scratch->write_at(0, data.data(), data.size()), 8192);
  scratch->release(0, 4096);
  std::vector<std::byte> back(8192);
  ASSERT_EQ(scratch->read_at(0, back.data(), back.size()), 8192);
  EXPECT_EQ(back[8191], data[8191]);
  EXPECT_EQ(scratch->num_bytes(), 1 * MiB);
  scratch->truncate(100);
  EXPECT_EQ(scratch->num_bytes(), 100U);
  scratch->sync();
}

TEST(file, errors_of_transfers_are_negative_numbers) {
  const temporary_directory home;
  store(home / "a", random_bytes(10));
  const auto a = file::open(home / "a", open_mode::read);
  std::byte one{};
  EXPECT_EQ(a->write_at(0, &one, 1), -EBADF);
}

TEST(file, in_memory_behaves_like_a_file) {
  const auto memory = file::in_memory("m", 10);
  EXPECT_TRUE(memory->is_memory());
  EXPECT_EQ(memory->num_bytes(), 10U);
  const auto data = random_bytes(700 * KiB);
  ASSERT_EQ(memory->write_at(300 * KiB + 5, data.data(), data.size()), static_cast<int64_t>(data.size()));
  EXPECT_EQ(memory->num_bytes(), 1000 * KiB + 5);
  std::vector<std::byte> back(data.size() + 100, std::byte{9});
  ASSERT_EQ(memory->read_at(300 * KiB + 5, back.data(), back.size()), static_cast<int64_t>(data.size()));
  EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin()));
  memory->release(256 * KiB, 256 * KiB);
  ASSERT_EQ(memory->read_at(300 * KiB, back.data(), 1), 1);
  EXPECT_EQ(back[0], std::byte{0});
  memory->truncate(300 * KiB + 6);
  memory->truncate(1000 * KiB);
  ASSERT_EQ(memory->read_at(600 * KiB, back.data(), 1), 1);
  EXPECT_EQ(back[0], std::byte{0}) << "what was cut off must not come back";
  EXPECT_EQ(memory->read_at(1000 * KiB, back.data(), 1), 0);
  memory->sync();
}

TEST(file, in_memory_serves_several_threads) {
  const auto memory = file::in_memory("m");
  std::vector<std::thread> writers;
  constexpr size_t piece = 50'000;
  for (unsigned t = 0; t < 4; ++t)
    writers.emplace_back([&, t] {
      for (unsigned i = 0; i < 20; ++i) {
        const auto data = random_bytes(piece, t * 100 + i);
        EXPECT_EQ(memory->write_at((uint64_t{i} * 4 + t) * piece, data.data(), piece), static_cast<int64_t>(piece));
      }
    });
  for (std::thread& t : writers) t.join();
  std::vector<std::byte> back(piece);
  for (unsigned t = 0; t < 4; ++t)
    for (unsigned i = 0; i < 20; ++i) {
      ASSERT_EQ(memory->read_at((uint64_t{i} * 4 + t) * piece, back.data(), piece), static_cast<int64_t>(piece));
      EXPECT_EQ(back, random_bytes(piece, t * 100 + i));
    }
}

}  // namespace
}  // namespace flowrun::io
