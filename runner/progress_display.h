// Shows how far a job is: a bar on a terminal, a line every thirty seconds elsewhere, or JSON lines for
// programs.
#pragma once

#include "engine/exec/job.h"
#include "engine/exec/report.pb.h"
#include "engine/metrics/progress.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// automatic becomes bar or plain; -q silences both.
progress_mode effective_mode(progress_mode asked, const terminal& where);

class progress_display {
 public:
  progress_display(progress_mode mode, terminal& where);

  // Called about ten times a second.
  void update(const exec::job_progress& now);
  // What the last update knew, for a page.
  void describe(const exec::job_progress& now, exec::RunReport::Live& out) const;
  // The job has ended: the bar goes; JSON gets its last line, {"status": …}.
  void finish(const exec::job_progress& last, const char* status);

 private:
  metrics::progress_state state_of(const exec::job_progress& now) const;

  progress_mode mode_;
  terminal& where_;
  metrics::progress_estimate estimate_;
  uint64_t start_ns_;
  uint64_t shown_ns_;
};

}  // namespace flowrun::runner
