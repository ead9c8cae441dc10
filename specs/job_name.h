// What a job is called: in reports, on its page, as the label job_name of its metrics.
#pragma once

#include <string>

#include "specs/job.pb.h"

namespace flowrun::specs {

// The name that the job gives itself, else that of its file.
std::string job_name(const JobSpec& job);

// The file's name without its extension; of standard input, which has none, "job".
std::string job_name(const std::string& file);

}  // namespace flowrun::specs
