// Which queues may be short, and which must be able to spill. Pure.
//
// A bounded queue makes its producer wait. Waiting can only become a deadlock where the queues of a phase, seen as
// edges between pipelines without direction, form a circle: branches of one stream that meet again, or two streams that
// meet twice. Every bounded queue on such a circle becomes a spilling one; so does a queue whose reader runs in a later
// phase. Branches in step are an exception. A node that takes its inputs at one pace (zip) and is fed by branches of
// one stream that keep the number of rows needs both at the same time; such queues count as one edge. One batch must
// not grow into more batches than a queue holds before the other branch has its turn: the rows of such a branch are at
// most twice as wide as the stream's, and without strings. Cost: linear in the queues and pipelines of a phase, but for
// the queues into nodes of one pace, each of which looks at all before it.
#pragma once

#include "engine/plan/pipelines.h"

namespace flowrun::plan {

// Sets queue::kind and queue::reason. pipeline::phase is known.
void decide_queues(const graph& g, pipeline_layout& layout);

}  // namespace flowrun::plan
