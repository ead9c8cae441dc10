// Runs a job that has been loaded, up to its report: for flowrun run, which loads a file, and flowrun sort, which makes
// the job.
#pragma once

#include "runner/job_loading.h"
#include "runner/options.h"
#include "runner/report_file.h"
#include "runner/run_metrics.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// Takes all of `arguments` but the job and the files that it writes at its end. Returns the exit code, or throws what
// ended the job, of which `measured` then knows if the job had begun.
int run_loaded(const loaded_job& loaded, const run_arguments& arguments, run_metrics& measured, report_file& report,
               terminal& screen);

}  // namespace flowrun::runner
