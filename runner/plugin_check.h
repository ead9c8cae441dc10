// flowrun plugins check PATH [JOB…]: tries a plugin hard, in processes of its own, and says what it doesn't keep.
#pragma once

#include "runner/options.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// Functions and aggregates by themselves (plugin/conformance.h, aggregate_trial.h), operators by the tests of jobs that
// use them (plugin_trial.h). Returns the exit code: 0, 70 where something is wrong, 1 where nothing is but operators
// were not tried.
int check_plugin(const plugins_arguments& arguments, terminal& screen);

}  // namespace flowrun::runner
