// The structure of a job, as a chapter of the reference: what stands at the top of the file, parameters, what is put in
// their place, types, nodes, graphs, tests. Pure.
#pragma once

#include <string>

namespace flowrun::plan {

std::string job_markdown();

}  // namespace flowrun::plan
