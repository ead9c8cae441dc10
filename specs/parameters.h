// The params: section: declarations, their types, and the values that this run gives them.
//
// Types are string, int, float, bool, bytes (64MiB), path and enum (with `values`). A parameter without default is
// required unless it says `required: false`. A default may use ${env:…} and the parameters declared above it.
#pragma once

#include <map>
#include <string>

#include "specs/expand.h"
#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::specs {

// Fills job.params and teaches `variables` every parameter. `section` is the params: entry, null when there is none;
// `given` are the -p options. Faults stand at the declaration, or at "-p name=value".
void read_parameters(const Entry* section, const std::map<std::string, std::string>& given, JobSpec& job,
                     expander& variables, fault_sink& faults);

// "int", "bytes", …
std::string_view param_type_name(ParamType type);

// What `text` should be when it is no value of the parameter's type; empty when it is one.
std::string misfit(const Param& param, const std::string& text);

}  // namespace flowrun::specs
