// What the report says about the shape of a job, so that a finished run can be drawn: edges between nodes, pipelines,
// phases with their times, and who has which part of the memory. Pure.
#pragma once

#include "engine/exec/job_report.h"

namespace flowrun::exec {

// Graphs inside of control nodes follow the graph that they are inside of, with the pipelines that they had in the plan
// before the run.
void add_structure(const report_input& in, RunReport& report);

}  // namespace flowrun::exec
