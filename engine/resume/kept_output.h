// An output whose first bytes stay when the process ends: what an earlier process has left of it, and what this one
// adds.
//
// A mark says: the first so many bytes are on the disk, and they are what came of the rows before this position of the
// source. Until the job succeeds they lie in a file with a hidden name beside the output's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/io/file.h"
#include "engine/resume/source_position.h"

namespace flowrun::resume {

class manifest;

// What is known to be on the disk.
struct output_progress {
  std::string path;  // the hidden name
  uint64_t inode = 0;
  uint64_t num_bytes = 0;      // 0: nothing
  pipeline_position position;  // of the row behind them
  int64_t born_ns = 0;         // since 1970; an inode's number comes again. 0: the file system doesn't say
};

class kept_output {
 public:
  kept_output(manifest& owner, std::string node) : owner_(owner), node_(std::move(node)) {}

  // What an earlier process left.
  const output_progress& before() const { return before_; }
  const std::string& node() const { return node_; }
  // So many bytes are between two marks, about.
  uint64_t bytes_between_marks() const;
  // What the end of the hidden name is, which no other job uses.
  std::string suffix() const;

  // An output without a mark, which may get the hidden name `path`: from here on no earlier one counts.
  void begin(const std::string& path);
  // That is noted, so that the name may be given. (Else nobody would know of a file that was left, or an earlier mark
  // would be taken for one of this file.)
  bool has_begun() const { return is_begun_ || before_.num_bytes > 0; }
  // The first bytes have been written to `content`, which has the hidden name `path`. They are synced, and the mark is
  // saved, by another thread.
  void written(std::shared_ptr<io::file> content, const std::string& path, uint64_t num_bytes,
               pipeline_position position);

 private:
  friend class manifest;
  manifest& owner_;
  const std::string node_;
  output_progress before_;
  std::atomic<bool> is_begun_{false};
};

}  // namespace flowrun::resume
