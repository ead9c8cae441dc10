#include "tests/operators/text_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/base/error.h"
#include "engine/record/key.h"

namespace flowrun::operators::testing {

record::batch to_batch(const record::row_type& type, std::span<const std::string> text, record::batch_pool& pool) {
  record::batch_builder builder(type, pool,
                                record::rows_of_any_length(std::max<size_t>(2 * type.row_bytes() * text.size(), 64)));
  for (const std::string& line : text) {
    std::byte* row = builder.append();
    size_t from = 0;
    for (const record::column& c : type.columns()) {
      const size_t end = std::min(line.find(',', from), line.size());
      const std::string cell = line.substr(from, end - from);
      from = end + 1;
      std::byte* field = row + c.offset;
      uint64_t bits = 0;
      if (c.type.is_string()) {
        builder.put_string(field, cell);
        continue;
      }
      if (c.type.is_bytes()) {
        FLOWRUN_CHECK(cell.size() == c.type.num_bytes);
        std::memcpy(field, cell.data(), cell.size());
        continue;
      }
      if (c.type.is_boolean())
        bits = cell == "true";
      else if (c.type.is_unsigned())
        bits = std::stoull(cell);
      else if (c.type.is_signed())
        bits = static_cast<uint64_t>(std::stoll(cell));
      else if (c.type.num_bytes == 4)
        bits = std::bit_cast<uint32_t>(std::stof(cell));
      else
        bits = std::bit_cast<uint64_t>(std::stod(cell));
      std::memcpy(field, &bits, c.type.num_bytes);
    }
  }
  return builder.take();
}

void append_text(const record::row_type& type, const record::batch& b, rows& out) {
  for (size_t i = 0; i < b.num_rows; ++i) {
    std::string line;
    for (const record::column& c : type.columns()) {
      if (c.offset > 0) line += ',';
      const std::byte* field = b.row(i) + c.offset;
      if (c.type.is_string()) {
        line += record::load_string(field, b.heap);
        continue;
      }
      if (c.type.is_bytes()) {
        line.append(reinterpret_cast<const char*>(field), c.type.num_bytes);
        continue;
      }
      const uint64_t bits = record::load_unsigned(field, c.type.num_bytes);
      const unsigned shift = 64 - 8 * c.type.num_bytes;
      if (c.type.is_boolean())
        line += bits ? "true" : "false";
      else if (c.type.is_unsigned())
        line += fmt::format("{}", bits);
      else if (c.type.is_signed())
        line += fmt::format("{}", static_cast<int64_t>(bits << shift) >> shift);
      else if (c.type.num_bytes == 4)
        line += fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
      else
        line += fmt::format("{}", std::bit_cast<double>(bits));
    }
    out.push_back(std::move(line));
  }
}

}  // namespace flowrun::operators::testing
