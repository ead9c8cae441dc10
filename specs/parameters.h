// The params: section: declarations, their types, and the values that this run gives them.
//
// Types are string, int, float, bool, bytes (64MiB), path, enum (with `values`), date and timestamp. A parameter
// without default is required unless it says `required: false`. Numbers may have a least and a greatest value
// (value_range.h). A default may use ${env:…} and the parameters declared above it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "specs/expand.h"
#include "specs/fault_sink.h"
#include "specs/job.pb.h"
#include "specs/value_range.h"

namespace flowrun::specs {

// Fills job.params and `ranges`, and teaches `variables` every parameter. `section` is the params: entry, null when
// there is none; `given` are the -p options. Faults stand at the declaration, or at "-p name=value".
void read_parameters(const Entry* section, const std::map<std::string, std::string>& given, JobSpec& job,
                     expander& variables, value_ranges& ranges, fault_sink& faults);

// What a type of parameter is called, and what its values look like.
struct param_type_help {
  std::string_view name;
  std::string_view values;
};
// In the order of ParamType.
std::span<const param_type_help> param_types();

// "int", "bytes", …
std::string_view param_type_name(ParamType type);

// What `text` should be when it is no value of the parameter's type, or out of its range; empty when it is one.
std::string misfit(const Param& param, const std::string& text, const value_range& range = {});
// The message for a misfit: "'x' is no int for the parameter 'n'".
std::string misfit_message(const Param& param, const std::string& text);

}  // namespace flowrun::specs
