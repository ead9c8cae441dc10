// A test case fitted to its job: rows in files of their own instead of the sources', outputs into a directory, and
// afterwards a look at what is there (test_comparison.h).
//
//   test_case + checked graph ─fit─▶ fitted_test ─redirected─▶ JobSpec ─run─▶ files, report ─mismatches─▶ what differs
#pragma once

#include <string>
#include <vector>

#include "engine/plan/graph.h"
#include "runner/test_case.h"

namespace flowrun::runner {

struct fitted_test {
  struct source {
    std::string node;
    std::string bytes;       // of its file
    bool generates = false;  // it has no file: it becomes a file.read_rows of this type and order
    record::row_type type;
    plan::order order;
  };
  struct output {
    std::string node;
    specs::Position position;
    std::string bytes;  // of its file
    bool packed = false;
    record::row_type type;  // of packed rows
    char delimiter = '\n';  // of lines
    std::string file = {};  // of an output with several: what it is called below their directory …
    std::string path = {};  // … and in the job
  };
  // An output with several files: there are no others than those that are expected.
  struct file_list {
    std::string node;
    std::string directory;  // in the job, with its '/'; may be empty
    std::vector<std::string> files;
    output common;  // what is the same for each of its files
  };
  struct value {
    std::string node;
    std::string field;
    std::string text;
    specs::Position position;
  };
  std::vector<source> sources;
  std::vector<output> outputs;
  std::vector<file_list> file_lists;
  std::vector<value> values;
};

// Reports what doesn't fit: nodes that aren't there, columns, values. Also reports sources of files without given
// rows, unless their paths are among those `named` by the test, or lie there.
fitted_test fit(const test_case& test, const plan::graph& job, const std::vector<std::string>& named,
                specs::fault_sink& faults);

// The job as the test runs it. Writes the files of the sources into `directory`, and gives the outputs theirs there.
specs::JobSpec redirected(const specs::JobSpec& job, const fitted_test& test, const std::string& directory);

// Where the files of a node lie then, or its one file.
std::string output_path(const std::string& directory, const std::string& node);

}  // namespace flowrun::runner
