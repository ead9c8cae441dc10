// What the report says about the shape of a job on a cluster, so that it can be drawn as one of a single process is:
// stages as phases, edges between nodes, and which nodes are in one pipeline. Pure.
#pragma once

#include <vector>

#include "cluster/stages.h"
#include "engine/exec/report.pb.h"

namespace flowrun::cluster {

struct stage_time {
  exec::RunReport::Phase::State state = exec::RunReport::Phase::waiting;
  double start_seconds = 0;  // since the job's start
  double seconds = 0;
};

// Into a report that has the nodes of the job and what they have counted. `cut`: of the job's own graph. How the bodies
// inside of its nodes are cut, if they are, is decided as they run: their edges and pipelines are those of a task.
void add_structure(const plan::graph& g, const stages& cut, const std::vector<stage_time>& times,
                   exec::RunReport& report);

}  // namespace flowrun::cluster
