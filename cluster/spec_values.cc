#include "cluster/spec_values.h"

#include <utility>

namespace flowrun::cluster {

specs::Value text_value(const std::string& text) {
  specs::Value out;
  out.mutable_scalar()->set_text(text);
  out.mutable_scalar()->set_quoted(true);
  return out;
}

specs::Value list_value(const std::vector<std::string>& texts) {
  specs::Value out;
  out.mutable_list();
  for (const std::string& text : texts) *out.mutable_list()->add_items() = text_value(text);
  return out;
}

specs::Value type_value(const record::row_type& type) {
  specs::Value out;
  for (const record::column& c : type.columns()) {
    specs::Entry& entry = *out.mutable_map()->add_entries();
    entry.set_key(c.name);
    *entry.mutable_value() = text_value(to_string(c.type));
  }
  return out;
}

void set_parameter(specs::Node& node, const std::string& name, specs::Value value) {
  specs::Map& with = *node.mutable_with()->mutable_map();
  for (specs::Entry& entry : *with.mutable_entries()) {
    if (entry.key() != name) continue;
    *value.mutable_position() = entry.value().position();
    *entry.mutable_value() = std::move(value);
    return;
  }
  specs::Entry& entry = *with.add_entries();
  entry.set_key(name);
  *entry.mutable_value() = std::move(value);
}

void remove_parameter(specs::Node& node, const std::string& name) {
  auto& entries = *node.mutable_with()->mutable_map()->mutable_entries();
  for (int i = entries.size(); i-- > 0;)
    if (entries[i].key() == name) entries.DeleteSubrange(i, 1);
}

}  // namespace flowrun::cluster
