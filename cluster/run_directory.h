// The directory of a run on a cluster, in a scratch directory, mode 0700: what the driver and its workers share.
//
//   SCRATCH/flowrun-cluster-XXXXXX             of a run that leaves nothing
//   SCRATCH/flowrun-cluster-resume-KEY         of one that can be gone on with: the same for the same command
//     facts, XXXXXX                            with a folder that is another one each time a run starts over
//
// The driver holds a lock (flock) on it; the system takes it away when the process ends, however it ends. So one that
// can be locked belongs to nobody who is alive: that of a run that leaves nothing is removed by the next run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace flowrun::cluster {

// What must be as it was for anything to be reused: {"the memory budget", "512 MiB"}.
using run_facts = std::map<std::string, std::string>;

class run_directory {
 public:
  // A new one. Throws error(output).
  explicit run_directory(const std::string& scratch);
  // That of the command with this key; what is there goes unless these are its facts. Throws error(resources) where
  // another process works there, error(output).
  run_directory(const std::string& scratch, const std::string& key, const run_facts& facts);
  // Removes it, unless keep() was called.
  ~run_directory();
  run_directory(const run_directory&) = delete;
  run_directory& operator=(const run_directory&) = delete;

  // What driver and workers share.
  const std::string& path() const { return path_; }
  // What has changed since the run whose directory it was.
  const std::vector<std::string>& reasons_to_start_over() const { return reasons_; }
  // It stays, for the same command.
  void keep() { keeps_ = true; }

 private:
  void lock();
  std::string root_, path_;
  int lock_ = -1;
  bool keeps_ = false;
  std::vector<std::string> reasons_;
};

// One of this user that was found in a scratch directory.
struct found_run {
  std::string path;
  uint64_t num_bytes = 0;
  bool is_at_work = false;
};
// By path.
std::vector<found_run> find_runs(const std::string& scratch);
// False: a driver works there now, or it can't be removed.
bool remove_if_dead(const found_run& found);

}  // namespace flowrun::cluster
