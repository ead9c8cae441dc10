// The least and the greatest value of a parameter: `min` and `max` of its declaration.
#pragma once

#include <map>
#include <string>

#include "specs/fault_sink.h"
#include "specs/job.pb.h"

namespace flowrun::specs {

// As written; empty: no bound.
struct value_range {
  std::string min, max;
};
using value_ranges = std::map<std::string, value_range>;  // by the parameter's name

// Fills `range` from a parameter's declaration. False where it is wrong, which is reported.
bool read_range(const Value& declaration, const Param& param, value_range& range, fault_sink& faults);

// False for a number beyond a bound. Text that is no number of that type is not judged here.
bool in_range(ParamType type, const std::string& text, const value_range& range);

// "1 to 8", "at least 1", "at most 8".
std::string range_text(const value_range& range);

}  // namespace flowrun::specs
