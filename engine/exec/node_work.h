// Work of a node that goes on beside its pipeline: a full half of a run buffer is sorted, a piece of an output is
// compressed.
#pragma once

#include "engine/base/resumable.h"
#include "engine/exec/services.h"

namespace flowrun::exec {

// Queues work on the threads of the job (services::spawn). Its time counts as the node's, as that in the pipeline does.
// Both outlive the work.
task_poster node_poster(services& job, node_counters& counters);

}  // namespace flowrun::exec
