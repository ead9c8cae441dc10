// All texts of a message of Protocol Buffers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace flowrun::specs {

// Puts change(text, name of the field) in the place of each text of the message, and of the messages in it. Maps are
// left out: their keys are words of operators, and no value is a text.
void change_texts(google::protobuf::Message& message,
                  const std::function<std::string(const std::string&, std::string_view)>& change);

}  // namespace flowrun::specs
