// A loop whose state between two iterations stays when the process ends: what an earlier process has left of it, and
// what this one adds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/runs/sorted_runs.h"

namespace flowrun::resume {

class manifest;

// The rows of a stream, in runs one behind the other.
using stream_runs = std::vector<runs::run>;

// What is known to be on the disks.
struct loop_progress {
  uint64_t iteration = 0;                      // that comes next; 0: nothing is known
  std::vector<uint64_t> scalars;               // that are carried
  std::map<std::string, stream_runs> carried;  // by stream; those that are not here are as the loop began with them
  std::vector<stream_runs> collected;          // of all iterations before, by output
};

// What has become of a loop since its state was noted last. The blocks are given away with it.
struct loop_step {
  uint64_t iteration = 0;  // that comes next
  std::vector<uint64_t> scalars;
  std::map<std::string, stream_runs> carried;  // those that have other rows than they had then
  std::vector<stream_runs> collected;          // the rows that came to it, by output
};

class kept_loop {
 public:
  kept_loop(manifest& owner, std::string node) : owner_(owner), node_(std::move(node)) {}

  // What an earlier process left. Its blocks are kept by the block manager.
  const loop_progress& before() const { return before_; }
  const std::string& node() const { return node_; }
  // All of it is on the disks. One thread at a time.
  void written(loop_step step);

 private:
  friend class manifest;
  manifest& owner_;
  const std::string node_;
  loop_progress before_;
  std::map<std::string, std::vector<block::block_id>> blocks_;  // that are kept, by carried stream
};

}  // namespace flowrun::resume
