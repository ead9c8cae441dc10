// flowrun test --update: the text of a spec in which a test expects what the job gave. Nothing else in it changes.
//
//   text of the spec + what differs ─updated_spec─▶ text, and what stays as it is and why
//
// A text is never returned that reads as another job but for the expected rows and values it is about.
#pragma once

#include <string>
#include <vector>

#include "runner/environment_mask.h"
#include "runner/spec_files.h"
#include "runner/test_run.h"

namespace flowrun::runner {

struct spec_update {
  std::string text;               // that of the spec, where nothing could be changed
  std::vector<std::string> left;  // lines to show: "job.yaml:12:20: write stays as it is: …"
};

// `index`: which test of the spec it is; `differing` is what a run of it gave instead. `mask`: values of the
// environment, which are not written into files.
spec_update updated_spec(const spec_file& spec, size_t index, const prepared_test& test,
                         const std::vector<mismatch>& differing, const environment_mask& mask);

}  // namespace flowrun::runner
