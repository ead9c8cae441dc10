// Reads a job: YAML text to a JobSpec and every fault in it at once.
//
//   text ─ source_text ─▶ yaml_tree ─▶ overrides ─▶ parameters, expand ─▶ job_reader ─▶ references
//
// Nothing in the text makes it throw, and what hostile text can cost is bounded (yaml_tree.h). Knows the grammar of the
// job language, not its operators.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fault.h"
#include "specs/job.pb.h"
#include "specs/value_range.h"

namespace flowrun::specs {

// What ${env:NAME} brought into a job: it may be a secret, and is shown to nobody.
struct environment_value {
  std::string name;
  std::string value;
};

struct read_result {
  JobSpec job;                                 // whole only when there are no faults
  std::vector<fault> faults;                   // by position
  std::string text;                            // what the faults' positions refer to, for render()
  value_ranges ranges;                         // of the parameters
  std::vector<environment_value> environment;  // that the job has asked for
};

// `parameters` are the -p options (name, value), `overrides` the --set options (path, value), which win over the file.
// `file_name` is for messages. The environment is read where the text asks for it (${env:VAR}).
read_result read_job(std::string text, std::string file_name, const std::map<std::string, std::string>& parameters = {},
                     const std::vector<std::pair<std::string, std::string>>& overrides = {});

// The same for a tree that was built, not read: its texts are as they are, and nothing is replaced in them. A value's
// position is best an origin, such as the option that it comes from.
read_result read_tree(const Value& root, std::string file_name);

// What messages call a job from standard input.
inline constexpr const char* standard_input_name = "<stdin>";

// The same for a file; - is standard input. Throws error(missing_input) when it can't be read.
read_result read_job_file(const std::string& path, const std::map<std::string, std::string>& parameters = {},
                          const std::vector<std::pair<std::string, std::string>>& overrides = {});

}  // namespace flowrun::specs
