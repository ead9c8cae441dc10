// Rows of different kinds for the tests of containers.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_rows.h"

namespace flowrun::container {

using record::batch;
using record::row_type;

// About `num_bytes` of random rows in batches of random length. Strings have up to `max_string_bytes`.
inline std::vector<batch> random_batches(record::batch_pool& pool, const row_type& type, size_t max_string_bytes,
                                         size_t num_bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<batch> out;
  std::string text;
  while (num_bytes > 0) {
    record::batch_builder builder(type, pool, record::rows_of_any_length(1 + random() % 20'000));
    while (!builder.full() && num_bytes > 0) {
      std::byte* row = builder.append();
      size_t taken = type.row_bytes();
      for (const record::column& c : type.columns()) {
        if (c.type.is_string()) {
          text.assign(random() % (max_string_bytes + 1), static_cast<char>(random()));
          builder.put_string(row + c.offset, text);
          taken += text.size();
        } else {
          for (uint32_t i = 0; i < c.type.num_bytes; ++i) row[c.offset + i] = static_cast<std::byte>(random());
        }
      }
      num_bytes -= std::min(num_bytes, taken);
    }
    out.push_back(builder.take());
  }
  return out;
}

struct row_kind {
  row_type type;
  size_t max_string_bytes = 0;
};

inline std::vector<row_kind> row_kinds() {
  return {{record::type_of({{"k", "u64"}}), 0},
          {record::type_of({{"a", "u16"}, {"b", "bytes[21]"}}), 0},
          {record::type_of({{"k", "u32"}, {"s", "string"}}), 30},
          {record::type_of({{"s", "string"}, {"t", "string"}}), 9000}};  // most rows longer than a block of 4 KiB
}

inline std::vector<batch> some_rows(record::batch_pool& pool, const row_kind& kind, size_t num_bytes, uint64_t seed) {
  return random_batches(pool, kind.type, kind.max_string_bytes, num_bytes, seed);
}

}  // namespace flowrun::container
