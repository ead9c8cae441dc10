// A file of messages, of any bytes, each behind its length; the last bytes choose the columns and where the file is
// cut.
//
// What holds: in whatever chunks it comes, the same messages are cut from it, or the same error ends it; a message that
// the library's own parser takes gives the values that the library has, and one that it refuses is refused, unless what
// is wrong lies in a field that no column takes.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "operators/parts/messages/message_cutter.h"
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
const message_layout& layout() {
  static const message_layout made = [] {
    pb::FileDescriptorSet set;
    pb::FileDescriptorProto::descriptor()->file()->CopyTo(set.add_file());
    operators::message_columns columns;
    const auto type = [](const char* text) { return *record::parse_value_type(text); };
    columns.type = record::row_type({{"name", type("string")},
                                     {"number", type("i32")},
                                     {"type", type("i32")},
                                     {"kind", type("string")},
                                     {"optional", type("bool")},
                                     {"packed", type("bool")}});
    columns.paths = {"name", "number", "type", "label", "proto3_optional", "options.packed"};
    return operators::message_layout_of(set.SerializeAsString(), "fuzz", "google.protobuf.FieldDescriptorProto",
                                        columns);
  }();
  return made;
}

template <class number>
number at(const std::vector<std::byte>& row, size_t column) {
  number out = 0;
  std::memcpy(&out, row.data() + layout().type[column].offset, sizeof out);
  return out;
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
    operators::message_layout_of(file, "file", "a.B", {layout().type, layout().type.names()});
  } catch (const error& problem) {
    must_hold(problem.kind() == error_kind::bad_data, "{}", problem.what());
  }
}

}  // namespace flowrun::fuzz
