#include "operators/parts/messages/described_message.h"

#include <span>

#include "engine/base/error.h"
#include "engine/io/decoder.h"

namespace flowrun::operators {

namespace {

// The descriptors of a large program have some megabytes.
constexpr size_t most_descriptor_bytes = size_t{64} << 20;

}  // namespace

std::vector<plan::parameter_declaration> described_message_parameters() {
  std::vector<plan::parameter_declaration> out(2);
  out[0].name = "descriptors";
  out[0].kind = plan::parameter_kind::path;
  out[0].required = true;
  out[0].is_read = true;
  out[0].help = "A FileDescriptorSet, as protoc --include_imports --descriptor_set_out=FILE writes it.";
  out[1].name = "message";
  out[1].kind = plan::parameter_kind::text;
  out[1].required = true;
  out[1].help = "The name of the messages, with their package: shop.Visit.";
  return out;
}

described_message read_described_message(plan::node_checker& node) {
  return {node.text("descriptors"), node.text("message")};
}

plan::parameter_declaration message_fields_parameter() {
  plan::parameter_declaration out;
  out.name = "fields";
  out.kind = plan::parameter_kind::column_texts;
  out.help =
      "The field that a column has, with those that it lies in: {city: address.city}; else the one of the column's "
      "name.";
  return out;
}

std::vector<std::string> read_message_fields(plan::node_checker& node, const record::row_type& type) {
  std::vector<std::string> out = type.names();
  for (const auto& [column, path] : node.column_texts("fields", type)) out[*type.index_of(column)] = path;
  return out;
}

std::optional<message_type> message_at_check(plan::node_checker& node, const described_message& from) {
  std::string content = node.file_beginning(from.descriptors, most_descriptor_bytes);
  if (content.empty()) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(content));
  if (const io::encoding how = io::recognise(bytes); how != io::encoding::plain)
    content = io::decoded_beginning(how, bytes, most_descriptor_bytes).text;
  try {
    return message_type(content, from.descriptors, from.message);
  } catch (const unknown_message& problem) {
    node.fault_at_parameter("message", problem.what(), {}, problem.hint());
  } catch (const error& problem) {
    node.fault_at_parameter("descriptors", problem.what(), {}, problem.hint());
  }
  return std::nullopt;
}

message_type message_in_file(const described_message& from) {
  return message_type(io::text_beginning(from.descriptors, most_descriptor_bytes).text, from.descriptors, from.message);
}

}  // namespace flowrun::operators
