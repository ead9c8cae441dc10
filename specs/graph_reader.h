// The graphs: section: named graphs that the operator `call` runs.
//
//   NAME:
//     doc: …
//     in: {PORT: any | TYPE | {column: type}}
//     out: NODE | {PORT: NODE[.port] | {from: NODE[.port], type: TYPE | {column: type}}}     one port alone: "out"
//     scalars: {NAME: {type: int | float | bool, default: …, help: …}}      expressions use them by name
//     nodes: {…}
//
// What a type's name stands for, and which graph calls which, is checked in plan/.
#pragma once

#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value.h"

namespace flowrun::specs {

// Appends to job.graphs every graph that has a name, also one with faults.
void read_graphs(const Entry& section, JobSpec& job, fault_sink& faults);

}  // namespace flowrun::specs
