// The directories of a job that can be resumed: one in each scratch directory, flowrun-resume-KEY, mode 0700.
//
//   SCRATCH/flowrun-resume-KEY/blocks      the scratch file of that disk
//   SCRATCH/flowrun-resume-KEY/manifest    in the first of them only
//   SCRATCH/flowrun-resume-KEY/owner       the number of the manifest that the blocks belong to
//
// The process that works there holds a lock (flock) on each directory; the system takes it away when the process ends,
// however it ends. So a directory that can be locked belongs to nobody who is alive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flowrun::resume {

// One that is locked, as long as this lives.
class resume_directory {
 public:
  // Makes it where it is missing. Throws error(resources) when it can't be made or used, or another process has worked
  // there for two seconds.
  resume_directory(const std::string& scratch, uint64_t key);
  ~resume_directory();
  resume_directory(resume_directory&& other) noexcept;
  resume_directory& operator=(resume_directory&&) = delete;

  const std::string& path() const { return path_; }
  std::string blocks() const { return path_ + "/blocks"; }
  std::string manifest() const { return path_ + "/manifest"; }
  // The blocks that are there go, and those that come belong to this manifest. Throws error(resources).
  void begin(uint64_t owner);
  // With all that is in it.
  void remove() noexcept;

 private:
  std::string path_;
  int lock_ = -1;
};

// The manifest of the job with this key, if it has one.
std::string manifest_in(const std::string& scratch, uint64_t key);
std::string blocks_in(const std::string& scratch, uint64_t key);
// The manifest whose blocks lie there; 0: none.
uint64_t owner_in(const std::string& scratch, uint64_t key);
// Whether a process works in the directory of that key now.
bool is_at_work(const std::string& scratch, uint64_t key);
// The directory of that key goes, if its blocks belong to this manifest and nobody works there.
void remove_blocks_of(uint64_t owner, const std::string& scratch, uint64_t key);

// One that was found in a scratch directory.
struct found_directory {
  std::string path;
  std::string manifest;              // empty: it has none
  std::vector<std::string> outputs;  // the parts of outputs that the manifest tells of, which lie beside the outputs
  uint64_t num_bytes = 0;            // that all of this takes on the disks
  int64_t changed_s = 0;             // when it or the newest file in it was changed, since 1970
  bool is_at_work = false;
  bool has_other_files = false;  // that no job makes: it is left alone
};

// By path. Those of other users, and scratch directories that aren't there, are left out.
std::vector<found_directory> find_resume_directories(const std::string& scratch);
// With the parts of outputs. False: a process works there now, or it can't be removed (then
// `cause` says why).
bool remove_if_dead(const found_directory& found, std::string& cause);

}  // namespace flowrun::resume
