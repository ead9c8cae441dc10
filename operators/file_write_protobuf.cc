// file.write_protobuf: rows as Protocol Buffers messages, each behind its length. Which fields the columns are written
// to is settled before the run (message_form.h).
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "operators/parts/files/file_sink.h"
#include "operators/parts/messages/described_message.h"
#include "operators/parts/messages/message_form.h"
#include "operators/parts/messages/message_formatter.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

struct settings {
  written_file to;
  described_message message;
  std::vector<record::column> columns;       // that are written
  std::vector<std::string> paths;            // of their fields, in their order: "address.city"
  std::shared_ptr<const message_form> form;  // null: the descriptors couldn't be looked at
};

std::shared_ptr<const message_form> form_of(const message_type& message, const settings& s,
                                            std::vector<form_problem>& problems) {
  return std::make_shared<const message_form>(message_form_of(message, s.columns, s.paths, problems));
}

// Where the check hasn't seen the descriptors. Throws error(bad_data) with the first problem.
std::shared_ptr<const message_form> form_in_file(const settings& s) {
  std::vector<form_problem> problems;
  auto form = form_of(message_in_file(s.message), s, problems);
  if (!problems.empty()) throw error(error_kind::bad_data, problems.front().message, problems.front().hint);
  return form;
}

settings check(plan::node_checker& node) {
  settings s;
  s.to = read_written_file(node);
  s.message = read_described_message(node);
  s.columns = s.to.columns(node.input_type());
  s.paths = read_message_fields(node, record::row_type(s.columns));
  if (!node.ok()) return s;
  const std::optional<message_type> message = message_at_check(node, s.message);
  if (!message) return s;
  std::vector<form_problem> problems;
  s.form = form_of(*message, s, problems);
  for (const form_problem& p : problems) {
    if (!p.column) {
      node.fault_at_parameter("message", p.message, {}, p.hint);
    } else if (s.paths[*p.column] != s.columns[*p.column].name) {
      node.fault_at_parameter("fields." + s.columns[*p.column].name, p.message, {}, p.hint);
    } else {
      node.fault_at_input(0, p.message, {}, p.hint);
    }
  }
  return s;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  exec::assembly out;
  message_formatter formatter(c.input_type(), s.form ? *s.form : *form_in_file(s), c.node.id);
  out.stages = write_text(c, s.to, formatting_by(std::move(formatter)));
  return out;
}

// The descriptors, where the check hasn't seen them.
void look_into(const settings& s, const std::string& path) {
  if (path == s.message.descriptors && !s.form) form_in_file(s);
}

}  // namespace

template <>
exec::operator_definition word<"file_write_protobuf">() {
  plan::operator_declaration d;
  d.name = "file.write_protobuf";
  d.summary = "Writes rows as Protocol Buffers messages, each behind its length.";
  d.details =
      "A message lies behind its length as a varint, as parseDelimitedFrom of Java and "
      "ParseDelimitedFromZeroCopyStream of C++ read it, and file.read_protobuf. `descriptors` is what protoc "
      "--include_imports --descriptor_set_out=FILE makes of the .proto files. Each column is written to the field of "
      "its name, or to the one that `fields` says, which may lie in a message within: {city: address.city}; fields "
      "that no column has are left out, and must not be `required` ones. The bytes are those that the library of "
      "Protocol Buffers writes.\n\n"
      "Fields have the columns that file.read_protobuf makes of them, and others that say the same: an integer field "
      "any integer column, double also f32, string and bytes also bytes[N], an enum its names or numbers, "
      "google.protobuf.Timestamp a timestamp. A value that its field can't have ends the job: a number that is too "
      "large, what isn't UTF-8 in a `string` of proto3, a name that the enum doesn't have, a number that an enum of "
      "proto2 doesn't have.\n\n"
      "Fields with presence (`optional` ones, and all of proto2) are always written. Other fields are left out when "
      "they are zero, false or empty, as the library of Protocol Buffers does, and so are a message within and a "
      "Timestamp in which nothing is set. Of a oneof, the one field whose column isn't zero, false or empty is "
      "written, or none; two such columns end the job. Read again, the rows are the same. The file appears under its "
      "name when the whole job has succeeded.";
  d.details += partitions_details;
  d.order = "keeps: messages are written in the order of the input";
  d.example =
      "write: {op: file.write_protobuf, in: visits, with: {path: out/visits.pb, descriptors: visits.desc, message: "
      "shop.Visit, fields: {city: address.city}}}\n";
  d.role = plan::operator_role::sink;
  d.division = plan::operator_division::pieces;
  d.work_per_byte = 4;
  d.inputs = {{"in", "the rows"}};
  d.parameters = written_file_parameters();
  d.parameters.push_back(path_columns_parameter());
  for (plan::parameter_declaration& p : described_message_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(message_fields_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return writing_memory(n, n.settings.as<settings>().to); };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
