// Runs jobs of file operators on real files with one thread. What a source emits goes through the stages at once, depth
// first, and a stage that is blocked is waited for. No meeting nodes, no breakers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exec/services.h"
#include "engine/io/request.h"

namespace flowrun::operators::testing {

struct file_run_options {
  size_t batch_bytes = 64 * 1024;
  uint64_t memory_bytes = 0;  // of each node; 0: what it likes best
  io::backend_kind backend = io::backend_kind::threads;
  bool direct = false;
};

struct file_run {
  std::vector<std::string> faults;  // "line:column: message"; nothing ran when there are any
  exec::node_counters counters;     // of all nodes together
};

// `nodes` is the YAML of the nodes, an entry a line. Throws flowrun::error as the operators do.
void run_files(const std::string& nodes, file_run& result, const file_run_options& options = {});
// The same, expecting no faults.
void run_files(const std::string& nodes, const file_run_options& options = {});
// The message of the error that the job ends with; fails the test when it ends well.
std::string error_of(const std::string& nodes, const file_run_options& options = {});

// A directory that is removed with everything in it.
class temporary_directory {
 public:
  temporary_directory();
  ~temporary_directory();
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const;  // returns the path
  std::string read(const std::string& name) const;
  bool has(const std::string& name) const;
  size_t num_entries() const;

 private:
  std::string path_;
};

}  // namespace flowrun::operators::testing
