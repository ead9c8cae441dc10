// Turns what yaml-cpp says about a wrong text into words that tell a user of the job language how to mend it.
//
// The common slip: inside {…} and […] a plain word ends at '[', '{' or ',', so bytes[10], key[0:10], row[-1].x and ${x}
// need quotes there. yaml-cpp calls that "end of map flow not found".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "specs/fault_sink.h"
#include "specs/source_text.h"

namespace flowrun::specs {

// How far yaml-cpp had come.
struct yaml_progress {
  std::optional<Position> at;            // its own mark; not always known
  std::optional<Position> open_bracket;  // the innermost '{' or '[' that was open
  Position last;                         // where the last key or value began
};

// `message` is yaml-cpp's.
void report_yaml_error(std::string_view message, const yaml_progress& progress, const source_text& source,
                       fault_sink& faults);

}  // namespace flowrun::specs
