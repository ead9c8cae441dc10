// What a running job offers its operators. One object per job; no globals.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/block/block_manager.h"
#include "engine/io/request.h"
#include "engine/record/batch.h"

namespace flowrun::io {
class joint_output;
}

namespace flowrun::resume {
class manifest;
}

namespace flowrun::exec {

// Counters that an operator names itself. Thread-safe.
class named_counters {
 public:
  void add(const std::string& name, uint64_t n) {
    mutex_lock lock(mutex_);
    counts_[name] += n;
  }
  std::map<std::string, uint64_t> values() const {
    mutex_lock lock(mutex_);
    return counts_;
  }

 private:
  mutable mutex mutex_;
  std::map<std::string, uint64_t> counts_ FLOWRUN_GUARDED_BY(mutex_);
};

// What a node counts besides what the executor counts for it. Thread-safe.
struct node_counters {
  std::atomic<uint64_t> rows_in{0};
  std::atomic<uint64_t> rows_out{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> busy_ns{0};
  std::atomic<uint64_t> blocked_ns[4]{};  // by blocked_on
  std::atomic<uint64_t> rejected_rows{0};
  std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> run_bytes{0};         // blocks of the runs as filled, before compression
  std::atomic<uint64_t> stored_run_bytes{0};  // the same blocks as written
  std::atomic<uint64_t> merge_passes{0};
  std::atomic<uint64_t> fan_in{0};
  std::atomic<uint64_t> iterations{0};        // of a loop
  std::atomic<uint64_t> verified_rows_in{0};  // of a sort whose conservation is checked (engine/sort/conservation.h)
  std::atomic<uint64_t> verified_rows_out{0};
  std::atomic<uint64_t> verified_as{0};      // sort::conservation_level of what was compared; 0: nothing was
  std::atomic<uint64_t> file_read_bytes{0};  // of user files
  std::atomic<uint64_t> file_written_bytes{0};
  std::atomic<uint64_t> file_total_bytes{0};  // what file_read_bytes will come to: for progress
  named_counters named;
};

// Which sorts count and hash their rows, in and out, and look at their order (sort/conservation.h).
enum class verification : uint8_t {
  none,
  fixed_width,  // those of rows without strings, for which it costs next to nothing
  all,
};

// Settings that tests and experts change; the defaults are right for jobs.
struct job_options {
  uint64_t block_bytes = 0;  // 0: the planner's choice
  uint64_t batch_bytes = 0;  // 0: the planner's choice
  bool force_spill = false;  // sorts and queues go to scratch even when they would fit
  bool direct = true;        // O_DIRECT for scratch and large files
  bool sync_outputs = true;  // fsync before the rename
  bool hash_outputs = false;  // the report has a hash of each output's content
  verification verify = verification::none;
};

class services {
 public:
  virtual ~services() = default;
  virtual record::batch_pool& pool() = 0;
  virtual io::backend& backend() = 0;
  virtual block::block_manager& blocks() = 0;
  virtual unsigned threads() const = 0;
  virtual const job_options& options() const = 0;
  // True once the job ends early (first error, Ctrl-C). Long loops look at it.
  virtual bool cancelled() const = 0;
  // Runs `work` on the job's arena, later. An exception ends the job as if the node had thrown it. The job waits for
  // it.
  virtual void spawn(std::function<void()> work) = 0;
  // An output that appears under its name when the whole job succeeded, or never.
  virtual void commit_at_end(std::unique_ptr<io::joint_output> output) = 0;
  // A result worth a line in the run report (reduce, check): node, name, value as text.
  virtual void report_value(const std::string& node, const std::string& name, const std::string& value) = 0;
  // What `make` gives. Nodes of a loop's body get the same again in each iteration, by a name of their own, and no
  // longer than the loop runs. While pipelines are built.
  using maker = std::function<std::shared_ptr<const void>()>;
  virtual std::shared_ptr<const void> kept(const std::string& name, const maker& make) {
    static_cast<void>(name);
    return make();
  }
  // Where a job that can be resumed notes what is finished; null: it can't be, or this is no part of it that could.
  virtual resume::manifest* manifest() { return nullptr; }
  // A line on standard error, once per text.
  virtual void warn(const std::string& text) = 0;
};

}  // namespace flowrun::exec
