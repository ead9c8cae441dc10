// --resume: which manifest belongs to a command, and what is said about it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/resume/manifest.h"
#include "runner/job_loading.h"
#include "runner/options.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// What must be as it was for anything of an earlier run of this command to be reused.
// `verify`: the choice of --verify; none: it was left out.
resume::job_identity identity_of(const loaded_job& loaded, const job_arguments& job,
                                 std::optional<bool> verify = std::nullopt);

// Opens and locks the job's directories, and says what it goes on with, or why it starts over. Throws error(usage) for
// a job that reads what can't be read again, error(resources).
std::shared_ptr<resume::manifest> open_manifest(const loaded_job& loaded, const run_arguments& arguments,
                                                terminal& screen);

// What is said of a run with --resume that has ended without its outputs.
std::string what_stays(const std::vector<block::disk_config>& scratch);

// What a run with --resume would go on with, a line each, for flowrun plan.
std::string describe_resume(const loaded_job& loaded, const plan_arguments& arguments);

}  // namespace flowrun::runner
