#include "specs/message_texts.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <vector>

namespace flowrun::specs {

void change_texts(google::protobuf::Message& message,
                  const std::function<std::string(const std::string&, std::string_view)>& change) {
  using google::protobuf::FieldDescriptor;
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* f : fields) {
    const bool text = f->type() == FieldDescriptor::TYPE_STRING;
    const bool inner = f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !f->is_map();
    if (!text && !inner) continue;
    if (!f->is_repeated()) {
      if (text)
        reflection->SetString(&message, f, change(reflection->GetString(message, f), f->name()));
      else
        change_texts(*reflection->MutableMessage(&message, f), change);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, f); ++i) {
      if (text)
        reflection->SetRepeatedString(&message, f, i, change(reflection->GetRepeatedString(message, f, i), f->name()));
      else
        change_texts(*reflection->MutableRepeatedMessage(&message, f, i), change);
    }
  }
}

}  // namespace flowrun::specs
