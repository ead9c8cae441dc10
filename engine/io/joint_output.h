// What a job commits at its end: one file (output_file.h), or all that a sink writes to several (output_set.h). Outputs
// of one job get their names together, step by step (joint_commit.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace flowrun::io {

// The files of an output that has several, in the order in which their first rows came. The first most_listed_files of
// them are listed.
struct output_files {
  static constexpr size_t most_listed_files = 1000;
  struct listed {
    std::string path;
    uint64_t num_rows = 0;
    uint64_t num_bytes = 0;
  };
  uint64_t num_files = 0;
  std::vector<listed> files;
};

// The steps of a commit are called in this order, each once for an output or for each of its names; they block for the
// disk, and throw error(io) or error(output).
class joint_output {
 public:
  virtual ~joint_output() = default;

  // As the job has it.
  virtual const std::string& path() const = 0;
  // Written as it comes: nothing is to be committed.
  virtual bool is_stream() const = 0;
  // A commit waits until all is on the disk.
  virtual bool is_durable() const = 0;
  // Those that get a file, by number from 0. A stream has none.
  virtual size_t num_names() const = 0;
  virtual std::string path_of(size_t name) const = 0;
  // XXH3 of the content, as a file has it, where that was asked for and is known.
  virtual std::optional<uint64_t> content_hash() const { return std::nullopt; }
  // Of an output with several files.
  virtual std::optional<output_files> files() const { return std::nullopt; }

  // The content is on the disk.
  virtual void sync() = 0;
  // Looks whether the names can be had, and does all before it that may fail.
  virtual void prepare() = 0;
  // Gives the content the name. With `keep_old` what it replaces is kept beside, where the file system can.
  virtual void place(size_t name, bool keep_old) = 0;
  // After place(): the name is as it was before. False where that can't be done, and the new content stays.
  virtual bool undo(size_t name) noexcept = 0;
  // The path of what was replaced, while it is kept; else empty.
  virtual std::string kept_old(size_t name) const = 0;
  // All stays: what it replaced goes.
  virtual void settle() noexcept = 0;
  // The names are on the disk. `done`: directories that need no sync any more; adds to it.
  virtual void sync_directories(std::set<std::string>& done) = 0;
};

}  // namespace flowrun::io
