#include "tests/support/random_rows.h"

namespace flowrun::record {

row_type type_of(std::initializer_list<std::pair<const char*, const char*>> columns) {
  std::vector<column> out;
  for (const auto& [name, type] : columns) out.push_back({name, parse_value_type(type).value()});
  return row_type(std::move(out));
}

std::string random_rows::text() {
  if (distinct > 0) {
    std::mt19937_64 fixed(below(distinct));
    return make_text(fixed);
  }
  return make_text(random);
}

void random_rows::fill(const row_type& type, std::byte* row, batch_builder& builder) {
  for (const column& c : type.columns()) {
    std::byte* field = row + c.offset;
    if (c.type.is_string()) {
      builder.put_string(field, text());
    } else if (c.type.is_boolean()) {
      *field = static_cast<std::byte>(below(2));
    } else {
      std::mt19937_64 fixed(distinct > 0 ? below(distinct) : random());
      for (uint32_t i = 0; i < c.type.num_bytes; ++i) field[i] = static_cast<std::byte>(fixed());
    }
  }
}

std::vector<batch> random_rows::batches(const row_type& type, batch_pool& pool, size_t num_rows, size_t target_bytes) {
  std::vector<batch> out;
  batch_builder builder(type, pool, rows_of_any_length(target_bytes));
  for (size_t i = 0; i < num_rows; ++i) {
    fill(type, builder.append(), builder);
    if (builder.full()) out.push_back(builder.take());
  }
  if (!builder.empty()) out.push_back(builder.take());
  return out;
}

batch random_rows::one_batch(const row_type& type, batch_pool& pool, size_t num_rows) {
  batch_builder builder(type, pool, rows_of_any_length(size_t{1} << 30));
  for (size_t i = 0; i < num_rows; ++i) fill(type, builder.append(), builder);
  return builder.take();
}

// Bytes 0, 1, 'a', 0xFE and 0xFF are frequent: they are where escaping and terminators could go wrong.
std::string random_rows::make_text(std::mt19937_64& from) {
  static constexpr char alphabet[] = {'\0', '\x01', 'a', '\xFE', '\xFF'};
  std::string out = string_prefix;
  const size_t num_bytes = from() % (max_string_bytes + 1);
  for (size_t i = 0; i < num_bytes; ++i)
    out += from() % 4 == 0 ? static_cast<char>(from()) : alphabet[from() % sizeof alphabet];
  return out;
}

std::string content_of(const row_type& type, const std::byte* row, const std::byte* heap) {
  std::string out;
  for (const column& c : type.columns()) {
    if (c.type.is_string()) {
      const std::string_view text = load_string(row + c.offset, heap);
      out += std::to_string(text.size()) + ":";
      out += text;
    } else {
      out.append(reinterpret_cast<const char*>(row + c.offset), c.type.num_bytes);
    }
  }
  return out;
}

std::vector<std::string> contents_of(const row_type& type, const std::vector<batch>& batches) {
  std::vector<std::string> out;
  for (const batch& b : batches)
    for (size_t i = 0; i < b.num_rows; ++i) out.push_back(content_of(type, b.row(i), b.heap));
  return out;
}

}  // namespace flowrun::record
