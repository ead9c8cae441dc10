// The settings under which `flowrun plugins check` runs a test of a job that uses a plugin. All must give what the
// first one gives, byte for byte, or end early without a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/disturbed_operator.h"

namespace flowrun::runner {

struct trial_setting {
  std::string name;     // "with 4 threads"
  std::string meaning;  // what it probably means where something else comes out
  unsigned threads = 2;
  uint64_t batch_bytes = 0;  // 0: the planner's choice
  bool plain_executor = false;
  bool tiny_blocks = false;  // of 4 KiB, and everything that can spill does, to two disks
  bool least_memory = false;
  bool blocks = false, delays = false;  // plugins::disturbance
  bool checks_orders = false;           // an output that is said to be sorted is looked at
  bool counts_steps = false;            // settings that end before a step are like this one, and say its share of them
  plugins::disturbance::ending ends = plugins::disturbance::ending::none;
  double ends_at = 0;                       // of the steps, 0 to 1
  std::optional<unsigned> ends_after_ms{};  // instead

  bool may_lack_memory() const { return tiny_blocks || least_memory; }
};

const std::vector<trial_setting>& trial_settings();

}  // namespace flowrun::runner
