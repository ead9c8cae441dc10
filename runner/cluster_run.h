// flowrun run --cluster: the driver of a job whose tasks are workers.
#pragma once

#include "cluster/described_stages.h"
#include "runner/job_loading.h"
#include "runner/options.h"
#include "runner/report_file.h"
#include "runner/run_metrics.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// Refuses options that a run on a cluster doesn't have. Throws error(usage).
void check_cluster_options(const run_arguments& arguments);
// Takes all of `arguments` but the job. Returns the exit code, or throws what ended a task.
int run_on_cluster(const loaded_job& loaded, const run_arguments& arguments, run_metrics& measured,
                   report_file& document, terminal& screen);
// For flowrun plan.
cluster::described_stages describe_stages(const loaded_job& loaded, const std::string& where, size_t tasks);

}  // namespace flowrun::runner
