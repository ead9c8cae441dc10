#include "specs/json_document.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "specs/source_text.h"

namespace flowrun::specs {

namespace {

namespace pb = google::protobuf;

std::string made_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    out += length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD";
    text.remove_prefix(length > 0 ? length : 1);
  }
  return out;
}

void make_utf8(pb::Message& message) {
  const pb::Reflection& all = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  all.ListFields(message, &fields);
  for (const pb::FieldDescriptor* const f : fields) {
    const bool is_text = f->type() == pb::FieldDescriptor::TYPE_STRING;
    const bool is_message = f->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE;
    const int count = f->is_repeated() ? all.FieldSize(message, f) : 1;
    for (int i = 0; i < count && (is_text || is_message); ++i) {
      if (is_message) {
        make_utf8(f->is_repeated() ? *all.MutableRepeatedMessage(&message, f, i) : *all.MutableMessage(&message, f));
        continue;
      }
      const std::string text = f->is_repeated() ? all.GetRepeatedString(message, f, i) : all.GetString(message, f);
      if (is_utf8(text)) continue;
      if (f->is_repeated())
        all.SetRepeatedString(&message, f, i, made_utf8(text));
      else
        all.SetString(&message, f, made_utf8(text));
    }
  }
}

}  // namespace

std::string json_document(const pb::Message& message) {
  const std::unique_ptr<pb::Message> copy(message.New());
  copy->CopyFrom(message);
  make_utf8(*copy);
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
