// Checks that each parameter of a node has the shape that its declaration asks for: known keys, nothing required
// missing, and the right kind of value. What expressions and columns mean is left to the operator's check. Pure;
// reports all faults of a node.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/fault.h"
#include "engine/plan/operator_declaration.h"
#include "engine/record/row_type.h"
#include "specs/job.pb.h"

namespace flowrun::plan {

using named_types = std::map<std::string, record::row_type>;

// True when the operator's own check may go on: nothing was found, and no value was left unresolved by the reader.
bool check_parameters(const specs::Node& spec, const operator_declaration& declaration, const named_types& types,
                      const std::string& file, std::vector<fault>& faults);

// The value of a parameter as its default stands in the declaration: text, or a list "[a, b]" of texts.
specs::Value default_value(const parameter_declaration& p);

// A row type as a parameter names it: a name of `types`, or a map {column: type}. Reports what is wrong and returns an
// empty row type.
record::row_type read_row_type(const specs::Value& value, const named_types& types, const std::string& file,
                               std::vector<fault>& faults);

// "a row expression, such as …": what a value of this kind looks like, for messages and the reference.
std::string describe(const parameter_declaration& p);

}  // namespace flowrun::plan
