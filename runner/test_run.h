// One run of a test: the job as the test wants it, in a temporary directory of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "runner/options.h"
#include "runner/test_case.h"
#include "runner/test_comparison.h"
#include "runner/test_job.h"

namespace flowrun::runner {

enum class test_variant {
  as_is,
  // Blocks of 4 KiB, batches of 512 bytes, little memory, and everything that can spill does, to two disks. So the few
  // rows of a test cross the same borders between blocks, batches and runs as large data.
  tiny_blocks,
};

// The job of a test, read, checked and fitted.
struct prepared_test {
  test_case test;
  std::shared_ptr<const specs::JobSpec> job;
  fitted_test fitted;
};

struct test_result {
  bool passed = false;
  bool stopped = false;            // by `stop`
  std::vector<std::string> lines;  // why it did not pass
  // What it gave instead of what it should have given; empty where it failed otherwise.
  std::vector<mismatch> differing;
};

// `given`: memory and threads. Faults in the plan of the job, such as a budget too small, are results too.
test_result run_test(const prepared_test& prepared, test_variant variant, const resource_arguments& given,
                     const std::atomic<bool>& stop);

// Faults as lines: where, what, and what would be right.
std::vector<std::string> words_of(const std::vector<fault>& faults);

// Whether a failure with these words is the one that the test expects. Returns nothing to show if it is.
test_result judge_failure(const test_case& test, const std::vector<std::string>& words);

}  // namespace flowrun::runner
