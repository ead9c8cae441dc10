// What `flowrun infer` has found as YAML to paste, as a whole job, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "operators/parts/infer/inferred_source.h"

namespace flowrun::runner {

struct inferred_job {
  std::vector<std::string> paths;  // as they were given, wildcards and all
  std::string node;                // that reads them
  operators::inferred_source source;
};

// `types:` and the node, with comments that say what was seen. Throws error(bad_spec) where a path is no UTF-8.
std::string inferred_fragment(const inferred_job& job);
// The same, and a node that writes all rows to standard output.
std::string inferred_whole_job(const inferred_job& job);
// One object; its `types` and `nodes` are those of a job.
std::string inferred_json(const inferred_job& job);

}  // namespace flowrun::runner
