// What a job has written and reported, beside what its test expects.
#pragma once

#include <string>
#include <vector>

#include "engine/exec/report.pb.h"
#include "runner/test_job.h"

namespace flowrun::runner {

// One thing that is not as expected: an output, one of its files, or a value that a node reports.
struct mismatch {
  enum class kind {
    rows,        // other ones than expected
    value,       // another one
    extra_file,  // of an output with several: nobody expects it
    no_file,     // … nobody wrote it
    nothing      // an output without its file, a value that nobody reports: nothing could be expected instead
  };
  kind what = kind::nothing;
  fitted_test::output output = {};  // what it is of: its node, and how its rows are to be read; its file, of several
  std::string field = {};           // of a value
  std::string found = {};           // bytes of a file, text of a value
  std::vector<std::string> lines = {};  // to show
};

std::vector<mismatch> mismatches(const fitted_test& test, const std::string& directory, const exec::RunReport& report);

}  // namespace flowrun::runner
