// Cuts a file of messages, each behind its length, into pieces of whole messages, so that the pieces can be decoded in
// parallel. A piece lies in the chunk it came from; only the message that straddles two chunks is put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/record/batch_pool.h"

namespace flowrun::operators {

struct message_piece {
  std::shared_ptr<const void> owner;
  std::string_view bytes;  // whole messages with their lengths
  size_t num_rows = 0;     // of them
  uint64_t first = 0;      // the number of the first one in its file, counted from 0
  uint64_t offset = 0;     // of its first byte in its file
  uint64_t first_row = 0;  // the number of the first one in all files
  size_t file = 0;         // index among the paths

  size_t num_bytes() const { return bytes.size(); }
};

// A length as a varint: its value and how many bytes it takes; nothing where it goes on behind `bytes`. A num_bytes of
// 0 says that it is none.
struct message_length {
  uint64_t value = 0;
  size_t num_bytes = 0;
};
std::optional<message_length> message_length_of(std::string_view bytes);

struct message_cutter_options {
  size_t piece_bytes = 1 << 18;
  size_t most_bytes = 1 << 26;    // of a message
  bool more_memory_helps = true;  // against messages that are longer
  std::string node;               // that reads, for the message
};

class message_cutter {
 public:
  message_cutter(message_cutter_options options, record::batch_pool& pool);

  // What is fed from now on are the bytes of the file `path` from `offset` on, where message `number` begins.
  void begin_file(std::string path, uint64_t offset = 0, uint64_t number = 0);
  // The next bytes of the file. Appends pieces, without the numbers of file and row. Throws error(bad_data) behind them
  // where there is no length, error(resources) where a message is longer than memory allows.
  void feed(const std::shared_ptr<const void>& owner, std::string_view chunk, std::vector<message_piece>& out);
  // The end of the file. Throws error(bad_data) when a message is cut off.
  void finish() const;

  uint64_t num_messages() const { return number_; }  // in all pieces of the file
  uint64_t offset() const { return offset_; }        // of the first byte that is in none of these

 private:
  bool may_have(const message_length& length) const;
  // Of the next message that isn't in a piece.
  [[noreturn]] void refuse(const message_length& length) const;
  std::string place() const;
  void emit(const std::shared_ptr<const void>& owner, std::string_view bytes, size_t num_messages,
            std::vector<message_piece>& out);
  std::string_view complete_carried(std::string_view chunk, std::vector<message_piece>& out);

  const message_cutter_options options_;
  record::batch_pool& pool_;
  std::string path_;
  uint64_t number_ = 0;
  uint64_t offset_ = 0;
  std::string carried_;  // the beginning of a message that ends in a later chunk
};

}  // namespace flowrun::operators
