// flowrun plan --cluster: what the stages of a job do.
#pragma once

#include <string>

#include "cluster/driver.h"
#include "engine/plan/plan.pb.h"

namespace flowrun::cluster {

struct described_stages {
  using messages = google::protobuf::RepeatedPtrField<plan::PlanStage>;
  std::string text;
  messages stages;
};

described_stages describe(const divided_job& job);

}  // namespace flowrun::cluster
