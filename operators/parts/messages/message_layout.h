// Which fields of a Protocol Buffers message become the columns of a row, by the numbers that the bytes of a message
// have for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/row_type.h"
#include "operators/parts/messages/message_type.h"
#include "operators/parts/text/csv_missing.h"

namespace flowrun::operators {

struct message_layout {
  struct field {
    uint32_t number = 0;
    message_value value = message_value::varint;
    size_t target = 0;            // a column; of a message: its fields, in `messages`
    std::vector<size_t> cleared;  // columns of the other fields of a oneof, of which a message has but one
    std::string name;             // with those that it lies in: "address.city"
    std::vector<size_t> implied;  // columns without presence that are there with the message that this is
  };
  // By number.
  using fields = std::vector<field>;

  record::row_type type;            // with the columns that tell what is missing
  std::vector<fields> messages;     // of which the first is the whole one
  std::vector<std::byte> defaults;  // a row with what columns have whose fields are absent; without its texts
  std::vector<std::string> texts;   // by column, of those that are strings
  std::vector<std::optional<size_t>> told_by;  // by column, the offset of the bool that says whether it is missing
  std::vector<std::string> implied_texts;      // by column, of strings among `implied`
  std::vector<std::map<int32_t, std::string, std::less<>>> enum_names;  // by column

  const field* find(size_t message, uint32_t number) const;
};

// What a job says of its messages.
struct message_columns {
  record::row_type type;
  std::vector<std::string> paths;  // of the columns in their order: "address.city"
  csv_missing missing{};           // what becomes of fields that are absent; without columns: what the message says
};

// Why what `missing` and `default` say of a column can't be had: no message tells whether its field is there. Empty: it
// can. Throws error(bad_data) as message_layout_of.
std::string presence_fault(const message_type& message, const message_columns& columns, size_t column);
constexpr const char* presence_hint = "leave it out, or make the field `optional` in the .proto";

// Throws error(bad_data) when the message has no such fields.
message_layout message_layout_of(const message_type& message, const message_columns& columns);

}  // namespace flowrun::operators
