// How far the tasks of a stage are, together. Pure, but for read_progress().
//
// Of a task that runs more than once at a time, or again, the furthest attempt counts, until it is done: then the one
// that was first. So nothing goes back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/cluster.pb.h"
#include "cluster/shared_directory.h"

namespace flowrun::cluster {

class stage_progress {
 public:
  struct task_progress {
    uint64_t rows = 0, bytes_read = 0;
    double ratio = 0;
    size_t attempts = 0;  // that have begun, as far as is known
    bool is_done = false;
    std::string host;              // of one that is done
    exec::RunReport counted = {};  // by the attempt that counts
  };

  explicit stage_progress(size_t num_tasks = 0) : tasks_(num_tasks) {}

  // What an attempt has told.
  void add(size_t task, const Progress& told);
  void note_attempts(size_t task, size_t begun);
  // What the attempt that was first has told last.
  void finish(size_t task, const Progress& last, const std::string& host = {});

  const std::vector<task_progress>& tasks() const { return tasks_; }
  size_t num_tasks() const { return tasks_.size(); }
  size_t num_done() const;
  size_t num_at_work() const;  // begun and not done, as far as is known
  double ratio() const;        // 0 … 1
  uint64_t rows() const;
  uint64_t bytes_read() const;

 private:
  std::vector<task_progress> tasks_;
};

// Adds what the workers of a stage have written, as far as it can be read now.
void read_progress(const shared_directory& from, size_t stage, stage_progress& to);

}  // namespace flowrun::cluster
