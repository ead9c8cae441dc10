// The structure of a job, as a chapter of the reference: what stands at the top of the file, parameters, what is put in
// their place, types, nodes, graphs, tests. Pure.
#pragma once

#include <string>
#include <vector>

namespace flowrun::plan {

std::string job_markdown();
// Of its own: what a job may use, in the job or in the machine's configuration.
std::string resources_markdown();

// The keys of a job's YAML: of the job itself, its nodes, parameters, graphs, tests and resources.
std::vector<std::string> job_key_names();
// What a key of this name means, wherever there is one; empty: there is none.
std::string job_key_text(const std::string& name);

}  // namespace flowrun::plan
