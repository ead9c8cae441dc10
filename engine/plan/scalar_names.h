// What `scalars:` of a node lets its expressions name: NAME.column for each column of a stream of one row that is a
// number, a time or a bool. Pure.
#pragma once

#include "engine/expr/scalars.h"
#include "engine/plan/graph.h"

namespace flowrun::plan {

// Names and types; the values come with the run.
expr::scalar_values scalars_of(const graph& g, const node& n);

// "'above' and 'share'": the nodes whose expressions name values of the row that node `taken_by` takes in.
std::string readers_of_row(const graph& g, int taken_by);

}  // namespace flowrun::plan
