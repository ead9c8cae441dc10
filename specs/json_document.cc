#include "specs/json_document.h"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string_view>

#include "engine/base/error.h"
#include "specs/message_texts.h"
#include "specs/source_text.h"

namespace flowrun::specs {

namespace {

namespace pb = google::protobuf;

}  // namespace

std::string json_document(const pb::Message& message) {
  const std::unique_ptr<pb::Message> copy(message.New());
  copy->CopyFrom(message);
  change_texts(*copy, [](const std::string& text, std::string_view) { return is_utf8(text) ? text : made_utf8(text); });
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string out;
  const auto status = pb::util::MessageToJsonString(*copy, &out, options);
  if (!status.ok()) internal_error("a message has no JSON form: " + status.ToString());
  return out;
}

}  // namespace flowrun::specs
