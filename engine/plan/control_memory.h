// How a control node divides its memory: among the graph that it runs and the vectors that hold what goes in and out of
// it. A loop has two vectors for what it carries, since one is read while the other is written, and others for what it
// collects. Pure.
//
// The vectors share a sixteenth, or their minimums; the graph has the rest. That is enough to keep small rows off the
// disks.
//
// A recursion is a stack of frames, of which only the top one works. Each takes its part from the next, so parts are
// small where a recursion may lie on top: a 128th for the vectors. Each stream that waits in the frame is written out,
// gives its buffers back, and keeps next to nothing (resting_bytes). Ten levels deep, with two control nodes and five
// streams in each, more than three quarters of the memory are left.
#pragma once

#include "engine/plan/physical_plan.h"

namespace flowrun::plan {

struct control_memory {
  uint64_t body_bytes = 0;
  uint64_t vector_bytes = 0;  // of each
};

control_memory divide_control_memory(const node& n, const machine& resources, uint64_t num_bytes);

// The least with which a control node, and all that is inside of it, can work.
uint64_t control_minimum(const node& n, const machine& resources);

// Whether a graph calls itself inside of the node, or the node is that call.
bool recurs(const node& n);

// Whether the node gives its body what the body gave it (loop): such vectors are in use all the time.
bool carries(const node& n);

// The memory of each stream that was stored before a recursion and is read in it or after it. A stream that fits this
// stays in memory.
uint64_t resting_bytes(const machine& resources);

}  // namespace flowrun::plan
