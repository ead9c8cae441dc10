// Ctrl-C and its kin, while a job runs: the first asks the job to stop and ends the process if that takes longer than a
// second (some seconds where tasks of other machines have to end), the second ends it at once.
#pragma once

#include <atomic>

namespace flowrun::runner {

// Takes over SIGINT, SIGTERM and SIGHUP for its lifetime; one at a time in a process.
class interrupts {
 public:
  explicit interrupts(double patience_seconds = 0.9);
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;

  // True once a signal came; the job looks at it.
  const std::atomic<bool>& requested() const;
  // The signal that came; 0 for none.
  int signal() const;
  const char* name() const;  // of it, for users: "Ctrl-C"
};

}  // namespace flowrun::runner
