// Which fields of a Protocol Buffers message become the columns of a row, by the numbers that the bytes of a message
// have for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"

namespace flowrun::operators {

// How a field lies in a message, and what it becomes.
enum class message_value : uint8_t {
  varint,      // its low bits: of int32, uint64, bool, an enum as a number
  zigzag32,    // sint32
  zigzag64,    // sint64
  truth,       // bool
  enum_name,   // an enum as a string
  fixed32,     // four bytes as they are
  fixed64,     // eight
  text,        // string or bytes
  exact_text,  // string or bytes of just as many bytes as the column has
  timestamp,   // google.protobuf.Timestamp
  message,     // a message with fields that are columns
  skipped,     // no column, but one of a oneof whose others are
};

struct message_layout {
  struct field {
    uint32_t number = 0;
    message_value value = message_value::varint;
    size_t target = 0;            // a column; of a message: its fields, in `messages`
    std::vector<size_t> cleared;  // columns of the other fields of a oneof, of which a message has but one
    std::string name;             // with those that it lies in: "address.city"
  };
  // By number.
  using fields = std::vector<field>;

  record::row_type type;
  std::vector<fields> messages;     // of which the first is the whole one
  std::vector<std::byte> defaults;  // a row with what columns have whose fields are absent; without its texts
  std::vector<std::string> texts;   // by column, of those that are strings
  std::vector<std::map<int32_t, std::string, std::less<>>> enum_names;  // by column

  const field* find(size_t message, uint32_t number) const;
};

// What a job says of its messages.
struct message_columns {
  record::row_type type;
  std::vector<std::string> paths;  // of the columns in their order: "address.city"
};

// `descriptors` is the content of a FileDescriptorSet, of the file `path`; `message` the name of a message in it.
// Throws error(bad_data) when it is none, or the message has no such fields.
message_layout message_layout_of(std::string_view descriptors, const std::string& path, const std::string& message,
                                 const message_columns& columns);

}  // namespace flowrun::operators
