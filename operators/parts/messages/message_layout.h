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
#include "operators/parts/messages/message_type.h"

namespace flowrun::operators {

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

// Throws error(bad_data) when the message has no such fields.
message_layout message_layout_of(const message_type& message, const message_columns& columns);

}  // namespace flowrun::operators
