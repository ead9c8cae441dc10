// Decodes the wire format of Protocol Buffers into the columns of a row: only the fields that are columns, and no
// message in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operators/parts/messages/message_layout.h"

namespace flowrun::operators {

// For one thread. `layout` outlives it.
class message_reader {
 public:
  explicit message_reader(const message_layout& layout);

  // Decodes a message, which must stay as long as texts() are used. False: it is none, or has a value that its column
  // can't have; reason() and offset() tell.
  bool read(std::string_view message);

  const std::vector<std::byte>& row() const { return row_; }             // without its texts
  const std::vector<std::string_view>& texts() const { return texts_; }  // by column, of those that are strings
  const std::string& reason() const { return reason_; }
  size_t offset() const { return offset_; }  // in the message

 private:
  class decoding;
  struct time {
    int64_t seconds = 0;
    int32_t nanos = 0;
  };
  void clear(size_t column);
  void found(size_t column);
  void imply(size_t column);
  bool set_times();

  const message_layout& layout_;
  std::vector<size_t> time_columns_, text_columns_;
  std::vector<time> default_times_;  // by column
  std::vector<std::byte> row_;
  std::vector<std::string_view> texts_;
  std::vector<std::string> numbers_;  // by column, of enums that have no name
  std::vector<time> times_;           // by column
  std::vector<uint8_t> there_;        // by column: its field has been found
  std::string reason_;
  size_t offset_ = 0;
};

}  // namespace flowrun::operators
