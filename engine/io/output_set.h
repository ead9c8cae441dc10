// An output of many files, which take their names together. However many there are, one is open at a time.
//
// Their bytes go to numbered files in a hidden directory, ".NAME.flowrun-N.tmp", beside where they will lie, so that a
// file can be closed and gone on with later, and nobody takes a part of it for the whole. A commit moves them to their
// names. A process holds a lock on its directory; one that nobody holds is left over from a process that was killed,
// and the next output of that name takes it away.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "engine/base/mutex.h"
#include "engine/io/file.h"
#include "engine/io/joint_output.h"
#include "engine/io/output_name.h"

namespace flowrun::io {

class output_set final : public joint_output {
 public:
  // `path`: what the job calls it. All files will lie in `directory` or under it, which is made where it is missing;
  // `name` is for the hidden one. Throws error(output).
  output_set(std::string path, std::string directory, const std::string& name, bool durable);
  // Removes what was not committed.
  ~output_set() override;
  output_set(const output_set&) = delete;
  output_set& operator=(const output_set&) = delete;

  // A file that will have this path, which none has yet; its number, from 0. Throws error(output) where it can't be
  // made or replaced, as far as that can be seen now.
  uint32_t add(const std::string& path);
  // A row goes to the file.
  void count_rows(uint32_t file, uint64_t num_rows);
  // Bytes of memory that the files take here. What add() takes for a path of so many bytes.
  uint64_t memory_bytes() const { return memory_bytes_; }
  static uint64_t memory_of(size_t path_bytes);

  // Behind what the file has. For one thread at a time, beside the calls above; blocks for the disk. Throws
  // error(output) or error(io).
  void append(uint32_t file, const std::byte* data, size_t num_bytes);
  // Closes the file that is open.
  void close_file();
  // How often a file was opened to be written to.
  uint64_t num_opened() const { return num_opened_; }

  const std::string& path() const override { return path_; }
  bool is_stream() const override { return false; }
  bool is_durable() const override { return durable_; }
  size_t num_names() const override;
  std::string path_of(size_t name) const override;
  std::optional<output_files> files() const override;
  void sync() override;
  void prepare() override;
  void place(size_t name, bool keep_old) override;
  bool undo(size_t name) noexcept override;
  std::string kept_old(size_t name) const override;
  void settle() noexcept override;
  void sync_directories(std::set<std::string>& done) override;

 private:
  struct member {
    member(const std::string& told, std::string followed, std::string number)
        : path(told), name(std::move(followed)), hidden(std::move(number)) {}
    const std::string path;  // as it was told
    output_name name;
    std::string hidden;  // in the hidden directory, while it lies there
    uint64_t num_rows = 0, num_bytes = 0;
    dev_t device = 0;  // of its directory, as prepare() found it
    ino_t directory = 0;
  };

  void make_hidden(const std::string& name);
  void remove_hidden() noexcept FLOWRUN_REQUIRES(mutex_);
  void remove_left(const std::string& hidden) const;
  void look_at(const std::string& path, const std::string& followed) const;
  member& at(size_t file) const;
  std::unique_ptr<file> open_member(const member& m, int flags) const;
  static bool is_same_directory(const member& m) noexcept;
  static void reopen_directory(member& m);

  const std::string path_;
  const std::string directory_;
  const bool durable_;
  new_directories made_;
  std::string hidden_;  // the path of the hidden directory
  int descriptor_ = -1;
  dev_t device_ = 0;
  uint64_t memory_bytes_ = 0;

  mutable mutex mutex_;
  // Its members stay where they are.
  mutable std::deque<member> members_ FLOWRUN_GUARDED_BY(mutex_);

  // Of whoever appends.
  std::unique_ptr<file> open_;
  member* opened_ = nullptr;
  std::atomic<uint64_t> num_opened_{0};
};

}  // namespace flowrun::io
