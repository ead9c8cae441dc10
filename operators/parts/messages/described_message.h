// What a node says of its messages: the file with their descriptors, and which message it is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/plan/node_checker.h"
#include "operators/parts/messages/message_type.h"

namespace flowrun::operators {

struct described_message {
  std::string descriptors;  // a path
  std::string message;
};
// The parameters `descriptors` and `message`, and what they say.
std::vector<plan::parameter_declaration> described_message_parameters();
described_message read_described_message(plan::node_checker& node);
// The parameter `fields`.
plan::parameter_declaration message_fields_parameter();
// By the column's name, or what `fields` says: the fields of these columns, in their order.
std::vector<std::string> read_message_fields(plan::node_checker& node, const record::row_type& type);

// nullopt after a fault, and where the file can't be looked at: that is said elsewhere, or it will be there in time.
std::optional<message_type> message_at_check(plan::node_checker& node, const described_message& from);
// Throws error where the file can't be read, or isn't what it should be.
message_type message_in_file(const described_message& from);

}  // namespace flowrun::operators
