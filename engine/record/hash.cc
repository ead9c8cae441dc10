#include "engine/record/hash.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

namespace flowrun::record {

namespace {

word128 combine(XXH128_hash_t h) { return static_cast<word128>(h.high64) << 64 | h.low64; }

}  // namespace

row_hasher::row_hasher(const row_type& type) : row_bytes_(type.row_bytes()) {
  for (const column& c : type.columns())
    if (c.type.is_string()) string_offsets_.push_back(c.offset);
}

word128 row_hasher::hash(const std::byte* row, const std::byte* heap) const {
  if (string_offsets_.empty()) return combine(XXH3_128bits(row, row_bytes_));
  // The fixed part between the strings, and each string's content, chained by the seed.
  uint64_t seed = 0;
  uint32_t from = 0;
  auto chain = [&](const void* data, size_t num_bytes) {
    const XXH128_hash_t h = XXH3_128bits_withSeed(data, num_bytes, seed);
    seed = h.high64 ^ (h.low64 * 0x9E3779B97F4A7C15ULL) ^ num_bytes;
    return h;
  };
  for (uint32_t offset : string_offsets_) {
    if (offset > from) chain(row + from, offset - from);
    const std::string_view text = load_string(row + offset, heap);
    chain(text.data(), text.size());
    from = offset + sizeof(string_ref);
  }
  return combine(chain(row + from, row_bytes_ - from));
}

multiset_hash row_hasher::hash(const batch& rows) const {
  multiset_hash out;
  out.num_rows = rows.num_rows;
  for (size_t i = 0; i < rows.num_rows; ++i) out.sum += hash(rows.row(i), rows.heap);
  return out;
}

std::string to_string(word128 value) {
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(value >> 64), static_cast<uint64_t>(value));
}

}  // namespace flowrun::record
