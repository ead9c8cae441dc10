// What a job has written and reported, beside what its test expects.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/report.pb.h"
#include "runner/test_job.h"

namespace flowrun::runner {

// What differs, as lines to show; empty: nothing.
std::vector<std::string> mismatches(const fitted_test& test, const std::string& directory,
                                    const exec::RunReport& report);

}  // namespace flowrun::runner
