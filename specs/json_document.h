// Messages of Protocol Buffers as documents for other programs: the report, the plan.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace flowrun::specs {

// Indented JSON with all fields, also those that have their default, under their names in the .proto file. Names of
// files and values may be any bytes, and JSON is UTF-8: U+FFFD stands for each byte that is no part of a character.
std::string json_document(const google::protobuf::Message& message);

}  // namespace flowrun::specs
