// file.read_protobuf: messages of Protocol Buffers, each behind its length.
//
// A serial head cuts the file into pieces of whole messages (message_source.h), the stage behind decodes those fields
// of them that are columns, in parallel (message_reader.h). Which fields these are is settled before the run, from the
// descriptors that protoc has written (message_layout.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/exec/parcel.h"
#include "operators/parts/files/file_input.h"
#include "operators/parts/messages/described_message.h"
#include "operators/parts/messages/message_layout.h"
#include "operators/parts/messages/message_reader.h"
#include "operators/parts/messages/message_source.h"
#include "operators/parts/text/csv_missing.h"
#include "operators/parts/text/file_column.h"
#include "operators/parts/text/rejection_tally.h"
#include "operators/parts/text/text_source.h"
#include "operators/word.h"

namespace flowrun::operators {

namespace {

using action = plan::node_checker::error_policy::action;

struct settings {
  std::vector<std::string> paths;
  described_message message;
  message_columns columns;
  std::shared_ptr<const message_layout> layout;  // null: the descriptors couldn't be looked at
  record::row_type read_type;                    // with the columns that tell what is missing
  record::row_type given_type;                   // and with the file's name
  input_facts inputs;
  plan::node_checker::error_policy on_error;
};

// Rows of the error port: which message of its file it is, at which byte, and what is wrong with it.
record::row_type reject_type() {
  using record::type_kind;
  using record::value_type;
  return record::row_type({{"message", value_type::of(type_kind::u64)},
                           {"byte", value_type::of(type_kind::u64)},
                           {"reason", value_type::of(type_kind::string)}});
}

std::shared_ptr<const message_layout> layout_of(const message_type& message, const settings& s) {
  return std::make_shared<const message_layout>(message_layout_of(message, s.columns));
}

// Of columns that `missing` or `default` names and whose fields can't be absent.
void report_presence(plan::node_checker& node, const message_type& message, const message_columns& columns) {
  for (size_t i = 0; i < columns.type.num_columns(); ++i) {
    const std::string fault = presence_fault(message, columns, i);
    if (fault.empty()) continue;
    const char* const parameter = columns.missing.columns[i].told_by ? "missing." : "default.";
    node.fault_at_parameter(parameter + columns.type[i].name, fault, {}, presence_hint);
  }
}

// Null where the descriptors can't be looked at, and after a fault.
std::shared_ptr<const message_layout> look_at_message(plan::node_checker& node, const settings& s) {
  const std::optional<message_type> message = message_at_check(node, s.message);
  if (!message) return nullptr;
  try {
    report_presence(node, *message, s.columns);
    return node.ok() ? layout_of(*message, s) : nullptr;
  } catch (const error& problem) {
    node.fault_at_parameter("message", problem.what(), {}, problem.hint());
    return nullptr;
  }
}

settings read(plan::node_checker& node) {
  settings s;
  s.paths = node.paths("path");
  s.message = read_described_message(node);
  if (auto type = node.row_type("type")) s.columns.type = *std::move(type);
  s.columns.paths = read_message_fields(node, s.columns.type);
  s.on_error = node.on_error();
  s.columns.missing = read_missing_columns(node, s.columns.type, {});
  s.read_type = node.ok() ? with_told_columns(s.columns.type, s.columns.missing) : s.columns.type;
  s.given_type = with_file_column(node, s.read_type);
  return s;
}

// As long as those in the first bytes of the files.
plan::row_estimate estimate(const settings& s) {
  if (!s.inputs.num_bytes) return {};
  const std::string_view sample = s.inputs.beginning;
  uint64_t num_messages = 0, sampled = 0;
  while (const auto length = message_length_of(sample.substr(sampled))) {
    if (length->num_bytes == 0 || length->value > sample.size() - sampled - length->num_bytes) break;
    sampled += length->num_bytes + length->value;
    ++num_messages;
  }
  const uint64_t total = *s.inputs.num_bytes;
  plan::row_estimate out;
  out.known = true;
  out.rows = num_messages == 0 ? total / std::max<uint64_t>(sample.size(), 1)
                               : static_cast<uint64_t>(static_cast<double>(total) / static_cast<double>(sampled) *
                                                       static_cast<double>(num_messages));
  out.num_bytes = out.rows * s.given_type.row_bytes() + (s.columns.type.has_strings() ? total / 2 : 0);
  if (s.inputs.estimated) return out;
  out.most_rows = total;  // an empty message is a byte
  if (!s.given_type.has_strings()) out.most_bytes = plan::bound_times(total, s.given_type.row_bytes());
  return out;
}

settings check(plan::node_checker& node) {
  settings s = read(node);
  const size_t port = s.on_error.what == action::to_port ? node.add_output(s.on_error.port) : 0;
  if (!node.ok()) return s;
  s.layout = look_at_message(node, s);
  if (!node.ok()) return s;
  s.inputs = look_at_inputs(node, s.paths);
  const plan::row_estimate rows = estimate(s);
  s.inputs.beginning.clear();
  if (port > 0) node.set_output(port, reject_type(), {}, plan::row_estimate{});
  node.set_output(0, s.given_type, {}, rows);
  return s;
}

class decode_stage final : public exec::parcel_stage<message_piece> {
 public:
  decode_stage(const settings& s, std::shared_ptr<const message_layout> layout, std::shared_ptr<rejection_tally> tally,
               record::batch_pool& pool, size_t batch_bytes)
      : layout_(std::move(layout)),
        keeps_rejected_(s.on_error.what == action::to_port),
        names_file_(s.given_type.num_columns() > s.read_type.num_columns()),
        reject_type_(reject_type()),
        tally_(std::move(tally)),
        pool_(pool),
        file_column_(s.read_type, s.given_type, s.paths),
        batch_bytes_(file_column_.without(batch_bytes)) {}

  // Goes on behind `within` bytes; the number of the message there is found by counting.
  void open(const message_piece& in, exec::output& out) const override {
    message_reader reader(*layout_);
    record::batch_builder rows(layout_->type, pool_, record::rows_of_any_length(batch_bytes_));
    record::batch_builder rejects(reject_type_, pool_, record::rows_of_any_length(batch_bytes_));
    size_t at = 0;
    uint64_t number = 0;
    const auto next = [&] {
      const message_length length = *message_length_of(in.bytes.substr(at));
      const std::string_view message = in.bytes.substr(at + length.num_bytes, length.value);
      at += length.num_bytes + length.value;
      ++number;
      return message;
    };
    while (at < out.within()) next();
    const uint64_t begin = number;
    uint64_t first_row = in.first_row + number;
    bool failed = false;
    while (at < in.bytes.size() && !failed && !out.full()) {
      const std::string_view message = next();
      if (reader.read(message)) [[likely]] {
        add(reader, rows);
      } else {
        failed = !reject(in, static_cast<size_t>(message.data() - in.bytes.data()), number - 1, reader, rejects);
      }
      if (rows.full()) emit(rows, first_row, in, out);
      if (rejects.full()) out.emit(rejects.take(), 1);
      if (rows.empty()) first_row = in.first_row + number;
    }
    emit(rows, first_row, in, out);
    if (!rejects.empty()) out.emit(rejects.take(), 1);
    const bool ends = failed || at == in.bytes.size();
    tally_->parsed(number - begin, ends);
    if (!ends) out.leave(0, at);
  }

 private:
  void add(const message_reader& reader, record::batch_builder& rows) const {
    std::byte* const row = rows.append();
    std::memcpy(row, reader.row().data(), reader.row().size());
    for (size_t i = 0; i < layout_->type.num_columns(); ++i)
      if (layout_->type[i].type.is_string()) rows.put_string(row + layout_->type[i].offset, reader.texts()[i]);
  }

  void emit(record::batch_builder& rows, uint64_t first_row, const message_piece& in, exec::output& out) const {
    if (rows.empty()) return;
    record::batch b = rows.take();
    b.first_row = first_row;
    out.emit(names_file_ ? file_column_.add(b, in.file, pool_) : std::move(b));
  }

  // False: the job will fail.
  bool reject(const message_piece& in, size_t begin, uint64_t number, const message_reader& reader,
              record::batch_builder& rejects) const {
    malformed_record bad;
    bad.line = in.first + number;
    bad.column = in.offset + begin + reader.offset();
    bad.reason = reader.reason();
    if (!tally_->reject(in.file, bad)) return false;
    if (!keeps_rejected_) return true;
    std::byte* const row = rejects.append();
    std::memcpy(row + reject_type_[0].offset, &bad.line, sizeof bad.line);
    std::memcpy(row + reject_type_[1].offset, &bad.column, sizeof bad.column);
    rejects.put_string(row + reject_type_[2].offset, bad.reason);
    return true;
  }

  const std::shared_ptr<const message_layout> layout_;
  const bool keeps_rejected_;
  const bool names_file_;
  const record::row_type reject_type_;
  const std::shared_ptr<rejection_tally> tally_;
  record::batch_pool& pool_;
  const file_column file_column_;
  const size_t batch_bytes_;
};

rejection_words words_of_messages() {
  rejection_words words;
  words.one = "message";
  words.several = "messages";
  words.mend = "mend the message";
  words.check = "check `message` and `descriptors`, mend the input";
  words.place = [](const std::string& path, uint64_t number, uint64_t byte) {
    return fmt::format("{}: message {} (counted from 0), byte {}", path, number, byte);
  };
  return words;
}

exec::assembly build(exec::build_context& c, const settings& s) {
  auto layout = s.layout ? s.layout : layout_of(message_in_file(s.message), s);
  auto tally = std::make_shared<rejection_tally>(s.on_error, s.paths, c.counters, words_of_messages());
  const cutter_options cutting = default_cutting(c, s.inputs);
  message_cutter_options options;
  options.piece_bytes = cutting.piece_bytes;
  options.most_bytes = cutting.max_record_bytes;
  options.more_memory_helps = cutting.more_memory_helps;
  options.node = cutting.node;
  exec::assembly out;
  out.head = make_message_source(c, s.paths, std::move(options), tally);
  out.stages.push_back(
      std::make_unique<decode_stage>(s, std::move(layout), std::move(tally), c.job.pool(), cutting.piece_bytes));
  return out;
}

// The descriptors, where the check hasn't seen them.
void look_into(const settings& s, const std::string& path) {
  if (path == s.message.descriptors && !s.layout) layout_of(message_in_file(s.message), s);
}

}  // namespace

template <>
exec::operator_definition word<"file_read_protobuf">() {
  plan::operator_declaration d;
  d.name = "file.read_protobuf";
  d.summary = "Reads files of Protocol Buffers messages, each behind its length.";
  d.details =
      "A message lies behind its length as a varint, as writeDelimitedTo of Java and SerializeDelimitedToOstream of "
      "C++ write it. `descriptors` is what protoc --include_imports --descriptor_set_out=FILE makes of the .proto "
      "files. A column has the value of the field of its name, or of the one that `fields` says, which may lie in a "
      "message within: {city: address.city}; fields that no column takes are skipped.\n\n"
      "int32, sint32 and sfixed32 are i32, those of 64 bits i64; uint32 and fixed32 are u32, those of 64 bits u64; "
      "float is f32, double f64, bool bool; string and bytes are string, or bytes[N] where all have just N bytes; an "
      "enum is i32, its number, or string, its name (its number in digits where it has none); "
      "google.protobuf.Timestamp is timestamp, and what is less than a microsecond is cut. A field that is absent has "
      "its default: zero, empty, false, the time 1970-01-01, or what the .proto says; or what `default` says, and a "
      "bool column that `missing` names tells so. These two are for fields with presence: `optional` ones, all of "
      "proto2, those of a oneof and Timestamps. A field without presence can have them if it lies in another message: "
      "it is absent where that message is. A repeated field can't be a column.\n\n"
      "A message that is damaged, or has a value that its column can't have, ends the job; `on_error: skip` drops such "
      "messages, `on_error: {to: PORT}` drops them and tells an output of that name {message: u64, byte: u64, reason: "
      "string}, with messages counted from 0 in their file. Where there is no length the job ends in any case, and so "
      "it does where the file ends within a message.";
  d.order = "gives: nothing known; rows come in the order of the files";
  d.example =
      "visits: {op: file.read_protobuf, with: {path: visits.pb, descriptors: visits.desc, message: shop.Visit, type: "
      "{user: u64, at: timestamp, city: string}, fields: {city: address.city}}}\n";
  d.role = plan::operator_role::source;
  d.division = plan::operator_division::files;
  d.work_per_byte = 5;
  d.outputs = {{"out", "a row for each message"}};
  d.has_error_port = true;
  d.parameters.push_back(input_path_parameter());
  for (plan::parameter_declaration& p : described_message_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(input_type_parameter("The columns to take, in any order."));
  d.parameters.push_back(message_fields_parameter());
  for (plan::parameter_declaration& p : missing_column_parameters()) d.parameters.push_back(std::move(p));
  d.parameters.push_back(file_column_parameter());
  d.memory = [](const plan::node& n, plan::node_part) { return text_reading_memory(n.settings.as<settings>().inputs); };
  return exec::define<settings>(std::move(d), check, build, look_into);
}

}  // namespace flowrun::operators
