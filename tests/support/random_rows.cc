#include "tests/support/random_rows.h"

#include <algorithm>
#include <cstring>

namespace flowrun::record {
namespace {

// The bits of one value (splitmix64): a Mersenne Twister of its own for each of them takes most of a test's time.
class value_bits {
 public:
  explicit value_bits(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace

row_type type_of(std::initializer_list<std::pair<const char*, const char*>> columns) {
  std::vector<column> out;
  for (const auto& [name, type] : columns) out.push_back({name, parse_value_type(type).value()});
  return row_type(std::move(out));
}

std::string random_rows::text() { return make_text(distinct > 0 ? below(distinct) : random()); }

void random_rows::fill(const row_type& type, std::byte* row, batch_builder& builder) {
  for (const column& c : type.columns()) {
    std::byte* field = row + c.offset;
    if (c.type.is_string()) {
      builder.put_string(field, text());
    } else if (c.type.is_boolean()) {
      *field = static_cast<std::byte>(below(2));
    } else {
      value_bits bits(distinct > 0 ? below(distinct) : random());
      for (uint32_t i = 0; i < c.type.num_bytes; i += 8) {
        const uint64_t some = bits.next();
        std::memcpy(field + i, &some, std::min<size_t>(sizeof some, c.type.num_bytes - i));
      }
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
std::string random_rows::make_text(uint64_t seed) const {
  static constexpr char alphabet[] = {'\0', '\x01', 'a', '\xFE', '\xFF'};
  value_bits bits(seed);
  std::string out = string_prefix;
  const size_t num_bytes = bits.next() % (max_string_bytes + 1);
  out.reserve(out.size() + num_bytes);
  for (size_t i = 0; i < num_bytes; ++i) {
    const uint64_t some = bits.next();
    out += some % 4 == 0 ? static_cast<char>(some >> 8) : alphabet[(some >> 8) % sizeof alphabet];
  }
  return out;
}

std::string content_of(const row_type& type, const std::byte* row, const std::byte* heap) {
  if (!type.has_strings()) return {reinterpret_cast<const char*>(row), type.row_bytes()};
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
