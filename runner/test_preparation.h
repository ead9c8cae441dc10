// From a spec to tests that can run: the spec is read once to find its tests, and again for each test, with the values
// that the test gives the parameters. A path that a test leaves open, since its rows are `given`, gets a stand-in.
#pragma once

#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "runner/spec_files.h"
#include "runner/test_run.h"
#include "specs/yaml_reader.h"

namespace flowrun::runner {

// The tests of a spec, in the order of the text.
struct spec_tests {
  std::vector<std::string> names;
  std::string text;           // what the faults' positions refer to
  std::vector<fault> faults;  // of the spec, for any values of its parameters
  std::vector<specs::environment_value> environment;
};
spec_tests find_tests(const spec_file& spec);

struct preparation {
  prepared_test prepared;
  std::vector<fault> faults;  // of the test
  // Of the job with these parameters: what a test that `fails` may be about.
  std::vector<fault> job_faults;
  std::string text;  // what the faults' positions refer to
  std::vector<specs::environment_value> environment;
};
preparation prepare_test(const spec_file& spec, size_t index);

}  // namespace flowrun::runner
