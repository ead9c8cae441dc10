// What a failing disk does to the manager and the writers of a job: whom it takes the blocks from, and what is told.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "engine/base/buffer.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/block/recognisable_blocks.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/temporary_directory.h"

namespace flowrun::block {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using effect = io::injected_fault::effect;

std::unique_ptr<io::faulty_backend> faulty(std::vector<io::injected_fault> faults) {
  return std::make_unique<io::faulty_backend>(io::make_backend(io::backend_kind::memory), std::move(faults));
}

// Every file of this process ends at `num_bytes` while it lives: what fallocate and writes meet on a full disk.
class file_size_limit {
 public:
  explicit file_size_limit(uint64_t num_bytes) {
    old_action_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{num_bytes, old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_action_);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_action_)(int) = nullptr;
};

TEST(disk_failure, lack_of_memory_is_not_held_against_a_disk) {
  const auto backend = faulty({{.way = io::direction::write, .nth = 2, .value = ENOMEM}});
  std::vector<std::string> warnings;
  manager_options options = memory_options(*backend, 2);
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  block_manager manager(options);
  const error e = error_of([&] { write_stream(manager, 1, 8); });
  EXPECT_EQ(e.kind(), error_kind::resources);
  EXPECT_THAT(e.what(), AllOf(HasSubstr("disk"), HasSubstr("offset"), HasSubstr("Cannot allocate memory")));
  EXPECT_EQ(backend->num_hit(), 1u);  // not tried again
  EXPECT_THAT(manager.weights(), Each(Gt(0)));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(disk_failure, a_full_disk_is_told_once_and_takes_no_more) {
  const auto backend =
      faulty({{.way = io::direction::write, .nth = 3, .num_requests = 9999, .value = EDQUOT, .path = "disk1"}});
  std::vector<std::string> warnings;
  manager_options options = memory_options(*backend, 2);
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  block_manager manager(options);
  const std::vector<block_id> ids = write_stream(manager, 1, 60);
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](const block_id& id) { return id.disk == 1; }), 2);
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("disk1 is full"), HasSubstr("Disk quota exceeded"))));
  EXPECT_GT(manager.weights()[0], 0);
  EXPECT_EQ(manager.weights()[1], 0);
}

TEST(disk_failure, a_file_that_may_not_grow_says_why) {
  const auto backend = io::make_backend(io::backend_kind::threads);
  temporary_directory where;
  block_manager manager(directory_options(*backend, where, 2));
  manager.open_all();
  const file_size_limit limit(16 * tiny_block);
  for (int i = 0; i < 32; ++i) manager.allocate(0, tiny_block);
  const error e = error_of([&] { manager.allocate(0, tiny_block); });
  EXPECT_EQ(e.kind(), error_kind::resources);
  EXPECT_THAT(e.what(), AllOf(HasSubstr(where / "disk0: 64.0 KiB used"), HasSubstr(where / "disk1: 64.0 KiB used"),
                              HasSubstr("free on its file system (can't reserve"), HasSubstr("offset 65536"),
                              HasSubstr("File too large")));
  EXPECT_EQ(manager.used_bytes(), 32 * tiny_block);
}

TEST(disk_failure, all_directories_are_tried_at_once) {
  const auto backend = io::make_backend(io::backend_kind::threads);
  temporary_directory where;
  manager_options options = directory_options(*backend, where, 3);
  std::ofstream(where / "disk2") << "a file";
  block_manager manager(options);
  const error e = error_of([&] { manager.open_all(); });
  EXPECT_EQ(e.kind(), error_kind::output);
  EXPECT_THAT(e.what(), AllOf(HasSubstr(where / "disk2"), HasSubstr("is not a directory")));
}

TEST(disk_failure, open_files_outlive_their_directories) {
  const auto backend = io::make_backend(io::backend_kind::threads);
  temporary_directory where;
  block_manager manager(directory_options(*backend, where, 2));
  manager.open_all();
  for (const char* name : {"disk0", "disk1"}) ASSERT_EQ(rmdir((where / name).c_str()), 0);
  const std::vector<block_id> ids = write_stream(manager, 1, 40);
  EXPECT_EQ(manager.used_bytes(), 40 * tiny_block);
  aligned_buffer memory(tiny_block);
  for (uint64_t i = 0; i < ids.size(); ++i) {
    io::request back;
    manager.prepare(back, ids[i], io::direction::read, memory.data());
    backend->submit(back);
    back.wait();
    EXPECT_EQ(back.take_result(), tiny_block);
    EXPECT_TRUE(has_payload(memory.data(), tiny_block, 1, i));
  }
}

TEST(disk_failure, a_link_that_leads_nowhere_is_named) {
  const auto backend = io::make_backend(io::backend_kind::threads);
  temporary_directory where;
  ASSERT_EQ(symlink((where / "gone").c_str(), (where / "disk0").c_str()), 0);
  block_manager manager(directory_options(*backend, where, 1));
  EXPECT_THAT(error_of([&] { manager.open_all(); }).what(),
              HasSubstr((where / "disk0") + " is a symbolic link that leads nowhere"));
}

}  // namespace
}  // namespace flowrun::block
