// A case under `tests:` as it stands in a spec: its grammar, without the job around it.
//
//   - name: duplicates count once
//     params: {limit: 5}                                  as -p
//     given:  {edges: ["1 2", "1 2", "x"]}                rows of a source, instead of its file's
//     expect: {write: ["1,1"], total.records: 1}          rows of an output; what a node reports
//     expect: {parts: {out/DE.csv: ["1,1"]}}              rows of an output with several files: all of these
//     fails:  "part of the message"                       instead of expect
//     once:   true                                        not again with tiny blocks
#pragma once

#include <map>
#include <string>
#include <vector>

#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::runner {

struct test_case {
  // Rows of a node, or the value that it reports under a name.
  struct part {
    std::string node;
    std::string field;  // empty: rows
    specs::Position position;
    specs::Value value;
  };
  std::string name;
  specs::Position position;
  std::map<std::string, std::string> parameters;
  std::map<std::string, specs::Position> parameter_positions;
  std::vector<part> given;
  std::vector<part> expected;
  std::string fails;  // empty: it succeeds
  bool once = false;
};

// `number` from 1 names a case without a name.
test_case read_test_case(const specs::TestCase& from, size_t number, specs::fault_sink& faults);

}  // namespace flowrun::runner
