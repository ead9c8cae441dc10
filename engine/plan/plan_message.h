// The physical plan as a Protocol Buffers message and as its JSON (decision D10).
#pragma once

#include <string>

#include "engine/plan/physical_plan.h"
#include "engine/plan/plan.pb.h"

namespace flowrun::plan {

google::protobuf::RepeatedPtrField<PlanOrderTerm> to_proto(const order& o);
PhysicalPlan to_proto(const graph& g, const physical_plan& plan);

// Indented; names as in plan.proto. Numbers of 64 bits are texts, as JSON of Protocol Buffers has it.
std::string explain_json(const PhysicalPlan& plan);

}  // namespace flowrun::plan
