// The report of a job on a cluster: those of its tasks as one. Pure.
#pragma once

#include <string>
#include <vector>

#include "cluster/stages.h"
#include "engine/exec/report.pb.h"
#include "engine/plan/graph.h"

namespace flowrun::cluster {

// Adds what a task has counted to the nodes of the job that have these names. Rows are those of the nodes of its stage:
// what reads another stage's rows has the name of the node that made them.
void add_task(exec::RunReport& whole, const plan::graph& g, const stage& of, const exec::RunReport& of_task);

// A report without counts, with the job's nodes.
exec::RunReport begin_report(const plan::graph& g);

}  // namespace flowrun::cluster
