// From a file to a plan: reads, checks and plans a job, and says everything that is wrong with it.
#pragma once

#include <memory>
#include <stdexcept>

#include "engine/plan/graph.h"
#include "engine/plan/physical_plan.h"
#include "runner/options.h"
#include "runner/resources.h"
#include "runner/terminal.h"

namespace flowrun::runner {

// The job is wrong and its faults have been shown: the command ends with the code of error_kind::bad_spec.
class faults_shown : public std::runtime_error {
 public:
  faults_shown() : std::runtime_error("the job has faults") {}
};

struct loaded_job {
  std::shared_ptr<plan::graph> graph;
  plan::physical_plan plan;
  resources machine;
  std::vector<std::string> missing_inputs;  // that a run would fail for
};

// Throws faults_shown, or error(missing_input) when there is no such file.
loaded_job load(const job_arguments& job, const resource_arguments& given, terminal& screen);

// True when the plan may write scratch: then it matters where it lies.
bool may_use_scratch(const loaded_job& job);

}  // namespace flowrun::runner
