// What browsers get to see of a running job: the job's thread makes a document when someone asks, and the server's
// threads hand it out. Nothing is made while nobody looks.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <string>

#include "engine/base/mutex.h"

namespace flowrun::runner {

// Thread-safe.
class page_state {
 public:
  // Whether someone waits for a new document. Costs the job's thread a look at a flag.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // `last`: of a job that has ended.
  void publish(std::string document, bool last);

  struct edition {
    std::string document;
    bool last = false;
  };
  // For a browser, which calls itself `viewer` (empty: it says nothing). The newest document: waits a little for the
  // job to make one.
  edition read(const std::string& viewer);
  // The last one has gone to that browser as a whole.
  void note_last_sent(const std::string& viewer);
  // Until everyone who has looked in the last seconds has read the last document, but no longer than `most`.
  void wait_for_viewers(std::chrono::milliseconds most);

 private:
  using clock = std::chrono::steady_clock;
  struct visit {
    clock::time_point at;
    bool has_read_last = false;
  };
  bool all_have_read() const FLOWRUN_REQUIRES(mutex_);

  mutable mutex mutex_;
  condition published_;
  condition handed_out_;
  std::string document_ FLOWRUN_GUARDED_BY(mutex_);
  clock::time_point made_ FLOWRUN_GUARDED_BY(mutex_);
  bool last_ FLOWRUN_GUARDED_BY(mutex_) = false;
  std::map<std::string, visit> viewers_ FLOWRUN_GUARDED_BY(mutex_);
  std::atomic<bool> wanted_{false};
};

}  // namespace flowrun::runner
