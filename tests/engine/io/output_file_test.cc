#include "engine/io/output_file.h"

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "engine/io/faulty_backend.h"
#include "engine/io/output_target.h"
#include "engine/io/statistics.h"
#include "tests/engine/io/each_backend.h"
#include "tests/support/byte_files.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::io {
namespace {

using testing::HasSubstr;

void write_all(output_file& out, std::span<const std::byte> data) {
  blocking_waker waker;
  while (!data.empty()) {
    size_t consumed = 0;
    const outcome s = out.write(data, consumed, &waker);
    ASSERT_LE(consumed, data.size());
    data = data.subspan(consumed);
    ASSERT_EQ(s.is_ready(), data.empty());
    if (s.is_blocked()) waker.wait();
  }
}

void finish(output_file& out) {
  blocking_waker waker;
  while (out.finish(&waker).is_blocked()) waker.wait();
}

class output_file_test : public testing::TestWithParam<backend_kind> {
 protected:
  void SetUp() override {
    if (GetParam() == backend_kind::io_uring && !io_uring_refusal().empty()) GTEST_SKIP() << io_uring_refusal();
    io = make_backend(GetParam(), 4);
  }
  temporary_directory home;
  std::unique_ptr<backend> io;
};

TEST_P(output_file_test, appears_whole_at_commit) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const size_t num_bytes = round % 4 == 0 ? 4096 * (random() % 40) : random() % 200'000;
    const auto content = random_bytes(num_bytes, static_cast<unsigned>(round));
    output_file_options options;
    options.chunk_bytes = 1 + random() % 20'000;
    options.depth = 2 + static_cast<unsigned>(random() % 4);
    options.direct = round % 2 == 0;
    options.reserve_bytes = round % 3 == 0 ? 0 : 100'000;
    disk_statistics disk("outputs");
    output_file out(*io, home / "out", options, &disk);
    for (std::span<const std::byte> rest(content); !rest.empty();) {
      const size_t piece = std::min<size_t>(rest.size(), 1 + random() % 9000);
      write_all(out, rest.first(piece));
      rest = rest.subspan(piece);
    }
    EXPECT_EQ(out.num_bytes(), num_bytes);
    finish(out);
    EXPECT_GE(disk.snapshot().writes.num_bytes, num_bytes);
    if (round == 0) {
      EXPECT_FALSE(std::filesystem::exists(home / "out"));
    }
    out.commit();
    ASSERT_EQ(load(home / "out"), content);
  }
  EXPECT_EQ(home.num_entries(), 1U);
}

TEST_P(output_file_test, another_process_goes_on_with_what_was_kept) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    const bool replaces = round % 3 == 0;
    if (replaces) store(home / "out", random_bytes(10, 1));
    const auto content = random_bytes(60'000 + random() % 60'000, static_cast<unsigned>(round));
    const std::span<const std::byte> all(content);
    const size_t first = round % 4 == 0 ? 4096 * (1 + random() % 5) : 1 + random() % 50'000;
    output_file_options options{.chunk_bytes = 8192, .direct = round % 2 == 0, .reserve_bytes = 30'000};
    {
      output_file out(*io, home / "out", options);
      write_all(out, all.first(first));
      EXPECT_LE(out.num_bytes_written(), first);
      options.kept_path = out.keep("flowrun-resume-1");
      EXPECT_EQ(out.keep("flowrun-resume-1"), options.kept_path);
      write_all(out, random_bytes(30'000, 5));  // what comes behind the mark counts for nothing
      while (out.num_bytes_written() < first) std::this_thread::yield();
      out.content()->sync();
    }
    EXPECT_EQ(home.num_entries(), replaces ? 2U : 1U);
    options.kept_bytes = first;
    {
      output_file out(*io, home / "out", options);
      EXPECT_EQ(out.num_bytes(), first);
      write_all(out, all.subspan(first));
      finish(out);
      out.commit();
    }
    ASSERT_EQ(load(home / "out"), content);
    EXPECT_EQ(home.num_entries(), 1U);
    std::filesystem::remove(home / "out");
  }
}

TEST_P(output_file_test, the_beginning_becomes_another_when_all_is_written) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const size_t first = 1 + random() % 30'000;
    auto content = random_bytes(first + (round % 3 == 0 ? 0 : random() % 100'000), static_cast<unsigned>(round));
    output_file_options options;
    options.chunk_bytes = 1 + random() % 20'000;
    options.depth = 2 + static_cast<unsigned>(random() % 3);
    options.direct = round % 2 == 0;
    options.reserve_bytes = round % 4 == 0 ? 0 : 100'000;
    options.rewritten_bytes = first;
    // Half of them go on in another process, before or behind the end of the beginning.
    const size_t kept = round % 4 < 2 ? 0 : random() % content.size();
    if (kept > 0) {
      output_file out(*io, home / "out", options);
      write_all(out, std::span(content).first(kept));
      finish(out);
      options.kept_path = out.keep("kept");
      options.kept_bytes = kept;
    }
    output_file out(*io, home / "out", options);
    write_all(out, std::span(content).subspan(kept));
    const auto beginning = random_bytes(first - random() % first, static_cast<unsigned>(round) + 1000);
    std::copy(beginning.begin(), beginning.end(), content.begin());
    out.rewrite_beginning(beginning);
    finish(out);
    out.commit();
    ASSERT_EQ(load(home / "out"), content) << round;
  }
}

TEST_P(output_file_test, hashes_what_it_takes_where_that_is_asked_for) {
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    const auto content = random_bytes(round == 0 ? 0 : random() % 100'000, static_cast<unsigned>(round));
    output_file_options options{.chunk_bytes = 8192, .direct = round % 2 == 0};
    options.hashed = round % 4 != 3;
    output_file out(*io, home / "out", options);
    for (std::span<const std::byte> rest(content); !rest.empty();) {
      const size_t piece = std::min<size_t>(rest.size(), 1 + random() % 9000);
      write_all(out, rest.first(piece));
      rest = rest.subspan(piece);
    }
    finish(out);
    out.commit();
    const auto there = load(home / "out");
    ASSERT_EQ(there, content);
    if (options.hashed)
      EXPECT_EQ(out.content_hash(), XXH3_64bits(there.data(), there.size())) << round;
    else
      EXPECT_EQ(out.content_hash(), std::nullopt);
  }
}

TEST_P(output_file_test, the_hash_of_what_it_did_not_take_is_unknown) {
  output_file_options options{.hashed = true, .rewritten_bytes = 4096};
  const auto content = random_bytes(10'000, 1);
  {
    output_file out(*io, home / "rewritten", options);
    write_all(out, content);
    out.rewrite_beginning(random_bytes(10, 2));
    finish(out);
    EXPECT_EQ(out.content_hash(), std::nullopt);
    options.kept_path = out.keep("kept");
    options.kept_bytes = content.size();
  }
  output_file out(*io, home / "rewritten", options);
  write_all(out, content);
  finish(out);
  EXPECT_EQ(out.content_hash(), std::nullopt);
}

TEST_P(output_file_test, long_names_are_kept_apart) {
  const std::string stem(240, 'x');
  output_file first(*io, home / (stem + "1").c_str()), second(*io, home / (stem + "2").c_str());
  EXPECT_NE(first.keep("flowrun-resume-0123456789abcdef"), second.keep("flowrun-resume-0123456789abcdef"));
  EXPECT_EQ(home.num_entries(), 2U);
}

TEST_P(output_file_test, what_was_kept_may_be_gone) {
  const output_file_options options{.kept_path = home / ".out.flowrun-resume-1", .kept_bytes = 5};
  EXPECT_THAT(error_of([&] { output_file(*io, home / "out", options); }).what(), HasSubstr("No such file"));
  store(home / ".out.flowrun-resume-1", random_bytes(4, 1));
  EXPECT_THAT(error_of([&] { output_file(*io, home / "out", options); }).what(), HasSubstr("too short"));
}

TEST_P(output_file_test, leaves_nothing_when_abandoned) {
  const auto content = random_bytes(100'000);
  store(home / "kept", content);
  for (const bool finished : {false, true})
    for (const char* name : {"new", "kept"}) {
      output_file out(*io, home / name, {.chunk_bytes = 4096});
      write_all(out, random_bytes(50'000));
      if (finished) finish(out);
    }
  EXPECT_EQ(home.num_entries(), 1U);
  EXPECT_EQ(load(home / "kept"), content);
}

TEST_P(output_file_test, makes_directories_that_are_missing) {
  output_file out(*io, home / "a/b/out", {});
  finish(out);
  out.commit();
  EXPECT_EQ(load(home / "a/b/out").size(), 0U);
}

TEST_P(output_file_test, takes_directories_away_when_abandoned) {
  {
    output_file out(*io, home / "a/b/out", {});
    write_all(out, random_bytes(50'000));
  }
  EXPECT_EQ(home.num_entries(), 0U);
  ASSERT_EQ(mkdir((home / "mine").c_str(), 0700), 0);
  {
    output_file first(*io, home / "mine/a/first", {});
    output_file second(*io, home / "mine/a/b/second", {});
    finish(first);
    first.commit();
  }
  EXPECT_TRUE(std::filesystem::exists(home / "mine/a/first"));
  EXPECT_FALSE(std::filesystem::exists(home / "mine/a/b"));
  { output_file out(*io, home / "mine/b/out", {}); }
  EXPECT_TRUE(std::filesystem::exists(home / "mine"));
  EXPECT_FALSE(std::filesystem::exists(home / "mine/b"));
}

TEST_P(output_file_test, survives_that_another_one_takes_its_directory_away) {
  auto maker = std::make_unique<output_file>(*io, home / "a/maker", output_file_options{});
  output_file out(*io, home / "a/out", {});
  write_all(out, random_bytes(10));
  finish(out);
  maker.reset();
  out.commit();
  EXPECT_EQ(load(home / "a/out"), random_bytes(10));
}

TEST_P(output_file_test, keeps_the_permissions_and_the_link_of_what_it_replaces) {
  store(home / "real", random_bytes(10));
  ASSERT_EQ(chmod((home / "real").c_str(), 0600), 0);
  ASSERT_EQ(symlink("real", (home / "link").c_str()), 0);
  output_file out(*io, home / "link", {});
  write_all(out, random_bytes(5));
  finish(out);
  out.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(home / "link"));
  EXPECT_EQ(load(home / "real"), random_bytes(5));
  struct stat info {};
  ASSERT_EQ(stat((home / "real").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_P(output_file_test, keeps_the_owner_of_what_it_replaces) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  constexpr uid_t user = 1234;
  constexpr gid_t group = 5678;
  store(home / "out", random_bytes(10));
  ASSERT_EQ(chown((home / "out").c_str(), user, group), 0);
  ASSERT_EQ(chmod((home / "out").c_str(), 02640), 0);
  output_file out(*io, home / "out", {});
  write_all(out, random_bytes(5));
  finish(out);
  out.commit();
  EXPECT_EQ(load(home / "out"), random_bytes(5));
  struct stat info {};
  ASSERT_EQ(stat((home / "out").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, user);
  EXPECT_EQ(info.st_gid, group);
  EXPECT_EQ(info.st_mode & 07777, 02640U);
}

TEST_P(output_file_test, reports_a_failing_disk_whichever_write_it_is) {
  const auto content = random_bytes(60'000);
  for (uint64_t nth = 1; nth <= 15; ++nth)
    for (const auto what : {injected_fault::effect::fail, injected_fault::effect::shorten}) {
      faulty_backend faulty(make_backend(GetParam()),
                            {{.way = direction::write, .nth = nth, .what = what, .value = ENOSPC}});
      const error failure = error_of([&] {
        output_file out(faulty, home / "out", {.chunk_bytes = 4096, .depth = 2});
        write_all(out, content);
        finish(out);
      });
      EXPECT_EQ(failure.kind(), what == injected_fault::effect::fail ? error_kind::output : error_kind::io);
      EXPECT_THAT(failure.what(), HasSubstr(home / "out"));
      EXPECT_EQ(home.num_entries(), 0U);
    }
}

TEST_P(output_file_test, an_error_stays) {
  faulty_backend faulty(make_backend(GetParam()), {{.way = direction::write, .value = EIO}});
  output_file out(faulty, home / "out", {.chunk_bytes = 4096});
  error_of([&] {
    write_all(out, random_bytes(60'000));
    finish(out);
  });
  EXPECT_THROW(finish(out), error);
  EXPECT_THROW(out.commit(), error);  // never finished
  EXPECT_EQ(home.num_entries(), 0U);
}

TEST_P(output_file_test, a_full_disk_is_an_error_and_leaves_nothing) {
  const std::string mounted = home / "full";
  ASSERT_EQ(mkdir(mounted.c_str(), 0700), 0);
  if (mount("flowrun-test", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "mount is not allowed here";
  const error failure = error_of([&] {
    output_file out(*io, mounted + "/out", {.chunk_bytes = 65536});
    write_all(out, random_bytes(2'000'000));
    finish(out);
  });
  const bool empty = std::filesystem::is_empty(mounted);
  ASSERT_EQ(umount(mounted.c_str()), 0);
  EXPECT_EQ(failure.kind(), error_kind::output);
  EXPECT_THAT(failure.what(), HasSubstr("No space left"));
  EXPECT_THAT(failure.hint(), HasSubstr("free space"));
  EXPECT_TRUE(empty);
}

TEST_P(output_file_test, writes_to_pipes) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto content = random_bytes(300'001);
  std::vector<std::byte> got;
  std::thread reader([&] { got = load(path); });
  {
    output_file out(*io, path, {.chunk_bytes = 4096});
    EXPECT_TRUE(out.is_stream());
    write_all(out, content);
    finish(out);
    out.commit();
  }
  reader.join();
  EXPECT_EQ(got, content);
}

TEST_P(output_file_test, a_pipe_waits_for_its_reader) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const size_t num_bytes : {size_t{0}, size_t{300'001}}) {
    const auto content = random_bytes(num_bytes);
    {
      blocking_waker waker;  // outlives the file
      output_file dropped(*io, path, {.chunk_bytes = 4096, .depth = 2});
      size_t consumed = 0;
      EXPECT_EQ(dropped.write(content, consumed, &waker).is_blocked(), num_bytes > 0);
      if (num_bytes == 0) {
        EXPECT_TRUE(dropped.finish(&waker).is_blocked());
      }
    }
    std::vector<std::byte> got;
    std::thread reader;
    {
      output_file out(*io, path, {.chunk_bytes = 4096});
      reader = std::thread([&] { got = load(path); });
      write_all(out, content);
      finish(out);
    }  // the pipe ends here
    reader.join();
    EXPECT_EQ(got, content);
  }
}

TEST_P(output_file_test, what_takes_the_name_of_a_pipe_is_left_alone) {
  const std::string path = home / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  output_file out(*io, path, {});
  std::filesystem::remove(path);
  std::ofstream(path) << std::string(100, 'x');
  const error failure = error_of([&] {
    write_all(out, random_bytes(10));
    finish(out);
  });
  EXPECT_EQ(failure.kind(), error_kind::io);
  EXPECT_EQ(std::filesystem::file_size(path), 100U);
}

TEST_P(output_file_test, a_reader_that_leaves_is_an_error) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const error failure = error_of([&] {
    output_file out(*io, "/dev/fd/" + std::to_string(ends[1]), {.chunk_bytes = 4096});
    close(ends[0]);
    write_all(out, random_bytes(300'000));
    finish(out);
  });
  close(ends[1]);
  EXPECT_EQ(failure.kind(), error_kind::io);
  EXPECT_THAT(failure.what(), HasSubstr("Broken pipe"));
}

TEST_P(output_file_test, a_reader_that_sleeps_does_not_hold_it) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    blocking_waker waker;  // outlives the file
    output_file out(*io, "/dev/fd/" + std::to_string(ends[1]), {.chunk_bytes = 65536, .depth = 2});
    const auto content = random_bytes(1'000'000);
    size_t consumed = 0;
    // The pipe is not read, so sooner or later all buffers and the pipe are full.
    EXPECT_EQ(out.write(content, consumed, &waker), outcome::blocked());
    EXPECT_LT(consumed, content.size());
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_P(output_file_test, writes_to_devices) {
  output_file out(*io, "/dev/null", {});
  write_all(out, random_bytes(100'000));
  finish(out);
  out.commit();
  struct stat info {};
  ASSERT_EQ(stat("/dev/null", &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  const error failure = error_of([&] {
    output_file full(*io, "/dev/full", {});
    write_all(full, random_bytes(100));
    finish(full);
  });
  EXPECT_EQ(failure.kind(), error_kind::output);
  EXPECT_FALSE(failure.hint().empty());
}

INSTANTIATE_TEST_SUITE_P(each, output_file_test, each_backend, backend_label);

TEST(output_file, refuses_what_is_no_file) {
  const temporary_directory home;
  const auto io = make_backend(backend_kind::memory);
  store(home / "file", random_bytes(1));
  for (const std::string& path :
       {home.path(), home.path() + "/", home / "missing/", home / "file/below", std::string("/proc/out")}) {
    const error failure = error_of([&] { output_file out(*io, path); });
    EXPECT_EQ(failure.kind(), error_kind::output) << path << ": " << failure.what();
    EXPECT_FALSE(failure.hint().empty()) << path;
  }
}

TEST(output_file, a_killed_process_leaves_nothing) {
  const temporary_directory home;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto io = make_backend(backend_kind::memory);
    output_file out(*io, home / "out", {.chunk_bytes = 4096});
    size_t consumed = 0;
    (void)out.write(random_bytes(100'000), consumed, nullptr);
    [[maybe_unused]] const auto told = write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char told = 0;
  ASSERT_EQ(read(ready[0], &told, 1), 1);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(home.num_entries(), 0U);
}

// What came while the content was written is there as well.
TEST(output_target, replaces_nothing_where_that_is_refused) {
  const temporary_directory home;
  const std::string path = home / "out";
  const auto refused = [&] {
    output_target target(path, false, {}, what_is_there::refused);
    const auto come = [&] {
      if (std::filesystem::is_symlink(home / "link"))
        std::filesystem::copy_symlink(home / "link", path);
      else
        std::ofstream(path) << "of somebody else";
    };
    come();
    EXPECT_THROW(target.commit(), error);
  };
  refused();
  std::ifstream kept(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "of somebody else");
  EXPECT_EQ(home.num_entries(), 1U);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("hanging", home / "link");
  refused();
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_FALSE(std::filesystem::exists(home / "hanging"));
  std::filesystem::remove(path);
  output_target target(path, false, {}, what_is_there::refused);
  target.commit();
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(output_target, long_names_have_siblings_too) {
  const temporary_directory home;
  const std::string path = home / std::string(255, 'n');
  for (int i = 0; i < 2; ++i) {  // the second replaces, through a sibling
    output_target target(path, false);
    target.commit();
    EXPECT_EQ(home.num_entries(), 1U);
  }
}

}  // namespace
}  // namespace flowrun::io
