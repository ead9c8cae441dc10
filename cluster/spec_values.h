// Values of a job that the program itself writes.
#pragma once

#include <string>
#include <vector>

#include "engine/record/row_type.h"
#include "specs/job.pb.h"

namespace flowrun::cluster {

specs::Value text_value(const std::string& text);
specs::Value list_value(const std::vector<std::string>& texts);
// {column: type}
specs::Value type_value(const record::row_type& type);

// In place of what the parameter was, if it was there.
void set_parameter(specs::Node& node, const std::string& name, specs::Value value);
void remove_parameter(specs::Node& node, const std::string& name);

}  // namespace flowrun::cluster
