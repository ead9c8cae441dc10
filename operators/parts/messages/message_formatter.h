// Rows into Protocol Buffers messages, each behind its length, as the library writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/row_type.h"
#include "operators/parts/files/text_block.h"
#include "operators/parts/messages/message_form.h"

namespace flowrun::operators {

class message_formatter {
 public:
  // `type` is that of the rows, `node` the one that writes them, for messages.
  message_formatter(record::row_type type, message_form form, std::string node)
      : type_(std::move(type)), form_(std::move(form)), node_(std::move(node)) {}

  // The rows of `in` as messages, from the first on, until they take `most_bytes`; at least one. Throws error(bad_data)
  // when a field can't have the value of its column. `ends` (may be null): where each message ends is added.
  // Thread-safe.
  text_block format(const record::batch& in, record::batch_pool& pool, uint64_t most_bytes = ~uint64_t{0},
                    std::vector<size_t>* ends = nullptr) const;

 private:
  class encoding;

  record::row_type type_;
  message_form form_;
  std::string node_;
};

}  // namespace flowrun::operators
