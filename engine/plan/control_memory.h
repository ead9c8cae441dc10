// How a control node divides its memory: among the graph that it runs and the vectors that hold what goes in and out of
// it (what a loop carries, twice, since one is read while the next is written; what it collects). Pure.
//
// The vectors share a sixteenth, or their minimums; the graph has the rest. That is enough to keep small rows off the
// disks.
//
// A recursion is a stack of frames, of which only the top one works. Each takes its part from the next, so parts are
// small where a recursion may lie on top: a 128th for the vectors, and next to nothing (resting_bytes) for each stream
// that waits in the frame, which is written out and gives its buffers back. Ten levels of two control nodes and five
// streams deep more than three quarters of the memory are left.
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

// A graph calls itself in it, or it is that call.
bool recurs(const node& n);

// It gives its body what the body gave it (loop): such vectors work all the time.
bool carries(const node& n);

// In memory, of each stream that was stored before a recursion and is read in it or after it. What is no longer than
// that stays there.
uint64_t resting_bytes(const machine& resources);

}  // namespace flowrun::plan
