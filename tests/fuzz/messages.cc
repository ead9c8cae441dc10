// A file of messages, of any bytes, each behind its length; the last bytes choose the columns and where the file is
// cut.
//
// What holds: in whatever chunks it comes, the same messages are cut from it, or the same error ends it; a message that
// the library's own parser takes gives the values that the library has, and one that it refuses is refused, unless what
// is wrong lies in a field that no column takes. What was read is written as the library writes it.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/messages/message_cutter.h"
#include "operators/parts/messages/message_form.h"
#include "operators/parts/messages/message_formatter.h"
#include "operators/parts/messages/message_layout.h"
#include "operators/parts/messages/message_reader.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/target.h"

namespace flowrun::fuzz {

namespace {

namespace pb = google::protobuf;
using operators::message_layout;
using operators::message_piece;

constexpr size_t most_bytes = 4096;

// The library has the descriptors of descriptors: a FieldDescriptorProto, which has numbers, texts, an enum and a
// message.
const operators::message_type& kind() {
  static const operators::message_type made = [] {
    pb::FileDescriptorSet set;
    pb::FileDescriptorProto::descriptor()->file()->CopyTo(set.add_file());
    return operators::message_type(set.SerializeAsString(), "fuzz", "google.protobuf.FieldDescriptorProto");
  }();
  return made;
}

const operators::message_columns& columns() {
  static const operators::message_columns made = [] {
    const auto type = [](const char* text) { return *record::parse_value_type(text); };
    operators::message_columns out;
    out.type = record::row_type({{"name", type("string")},
                                 {"number", type("i32")},
                                 {"type", type("i32")},
                                 {"kind", type("string")},
                                 {"optional", type("bool")},
                                 {"packed", type("bool")}});
    out.paths = {"name", "number", "type", "label", "proto3_optional", "options.packed"};
    return out;
  }();
  return made;
}

const message_layout& layout() {
  static const message_layout made = operators::message_layout_of(kind(), columns());
  return made;
}

template <class number>
number at(const std::vector<std::byte>& row, size_t column) {
  number out = 0;
  std::memcpy(&out, row.data() + layout().type[column].offset, sizeof out);
  return out;
}

const operators::message_formatter& formatter() {
  static const operators::message_formatter made = [] {
    std::vector<operators::form_problem> problems;
    operators::message_form form =
        operators::message_form_of(kind(), columns().type.columns(), columns().paths, problems);
    must_hold(problems.empty(), "the fields take no such columns");
    return operators::message_formatter(columns().type, std::move(form), "out");
  }();
  return made;
}

// What was read is written as the library does, and read again it is the same; all fields have presence.
void write_again(const operators::message_reader& first) {
  record::batch_pool pool;
  record::batch_builder rows(layout().type, pool, record::rows_of_any_length());
  std::byte* const row = rows.append();
  std::memcpy(row, first.row().data(), first.row().size());
  for (const size_t text : {0, 3}) rows.put_string(row + layout().type[text].offset, first.texts()[text]);
  operators::text_block written;
  try {
    written = formatter().format(rows.take(), pool);
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data, "{}", problem.what());
    const bool known = pb::FieldDescriptorProto::Type_IsValid(at<int32_t>(first.row(), 2));
    must_hold(!known || first.texts()[3].find_first_not_of("-0123456789") == std::string_view::npos, "{}",
              problem.what());
    return;
  }
  const operators::message_length length = *operators::message_length_of(written.text());
  const std::string_view message = written.text().substr(length.num_bytes);
  must_hold(message.size() == length.value, "a length of {} and {} bytes", length.value, message.size());
  operators::message_reader again(layout());
  must_hold(again.read(message), "{}", again.reason());
  must_hold(again.row() == first.row() && again.texts() == first.texts(), "other values");
  pb::FieldDescriptorProto own;
  own.set_name(std::string(first.texts()[0]));
  own.set_number(at<int32_t>(first.row(), 1));
  own.set_type(static_cast<pb::FieldDescriptorProto::Type>(at<int32_t>(first.row(), 2)));
  pb::FieldDescriptorProto::Label label = pb::FieldDescriptorProto::LABEL_OPTIONAL;
  must_hold(pb::FieldDescriptorProto::Label_Parse(std::string(first.texts()[3]), &label), "a name of an enum");
  own.set_label(label);
  own.set_proto3_optional(at<bool>(first.row(), 4));
  own.mutable_options()->set_packed(at<bool>(first.row(), 5));
  must_hold(own.SerializeAsString() == message, "other bytes than those of the library");
}

void compare(std::string_view bytes) {
  operators::message_reader reader(layout());
  pb::FieldDescriptorProto own;
  const bool is_own = own.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
  if (!reader.read(bytes)) {
    must_hold(reader.offset() <= bytes.size() && !reader.reason().empty(), "byte {} of {}", reader.offset(),
              bytes.size());
    return;
  }
  write_again(reader);
  if (!is_own) return;
  must_hold(reader.texts()[0] == own.name(), "another name");
  must_hold(at<int32_t>(reader.row(), 1) == own.number(), "another number");
  must_hold(at<bool>(reader.row(), 4) == own.proto3_optional(), "another bool");
  must_hold(at<bool>(reader.row(), 5) == own.options().packed(), "another bool within");
}

struct cut {
  std::string bytes, error;
  uint64_t num_messages = 0;
  bool operator==(const cut&) const = default;
};

cut cut_in(std::string_view file, size_t chunk_bytes, size_t piece_bytes) {
  record::batch_pool pool;
  operators::message_cutter cutter({piece_bytes, most_bytes, true, "in"}, pool);
  cutter.begin_file("file");
  cut out;
  std::vector<message_piece> pieces;
  try {
    for (size_t from = 0; from < file.size(); from += chunk_bytes)
      cutter.feed(nullptr, file.substr(from, chunk_bytes), pieces);
    cutter.finish();
  } catch (const error& problem) {
    out.error = problem.what();
  }
  for (const message_piece& p : pieces) {
    must_hold(p.first == out.num_messages && p.offset == out.bytes.size(), "a piece at byte {}", p.offset);
    out.bytes += p.bytes;
    out.num_messages += p.num_rows;
  }
  return out;
}

}  // namespace

void try_input(std::string_view bytes) {
  input in(bytes);
  const size_t chunk_bytes = 1 + in.byte(), piece_bytes = 1 + in.byte();
  const std::string file(in.rest());
  const cut whole = cut_in(file, file.size() + 1, most_bytes);
  must_hold(whole == cut_in(file, chunk_bytes, piece_bytes), "other messages in chunks of {}", chunk_bytes);
  for (std::string_view left = whole.bytes; !left.empty();) {
    const operators::message_length length = *operators::message_length_of(left);
    compare(left.substr(length.num_bytes, length.value));
    left.remove_prefix(length.num_bytes + length.value);
  }
  compare(file);
  // Descriptors are messages of others, too.
  try {
    operators::message_layout_of({file, "file", "a.B"}, {layout().type, layout().type.names()});
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data, "{}", problem.what());
  }
}

}  // namespace flowrun::fuzz
