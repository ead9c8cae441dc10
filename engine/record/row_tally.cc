#include "engine/record/row_tally.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

namespace flowrun::record {

namespace {

#define FLOWRUN_ROW_HASH static inline __attribute__((always_inline))

FLOWRUN_ROW_HASH uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15U;
  x ^= x >> 32;
  x *= 0xC2B2AE3D27D4EB4FU;
  return x ^ x >> 29;
}

template <class Word>
FLOWRUN_ROW_HASH Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Rows that lie one behind the other and are words.
template <class Word>
FLOWRUN_ROW_HASH uint64_t sum_of_words(const std::byte* rows, size_t num_rows) {
  uint64_t sum = 0;
  for (size_t i = 0; i < num_rows; ++i) sum += mix(load<Word>(rows + i * sizeof(Word)));
  return sum;
}

// Rows of 9 to 16 bytes.
FLOWRUN_ROW_HASH uint64_t sum_of_pairs(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < num_rows; ++i) {
    const std::byte* const row = rows + i * row_bytes;
    sum += mix(mix(load<uint64_t>(row)) + load<uint64_t>(row + row_bytes - sizeof(uint64_t)));
  }
  return sum;
}

// Rows of fewer than eight bytes.
FLOWRUN_ROW_HASH uint64_t sum_of_short_rows(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < num_rows; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, rows + i * row_bytes, row_bytes);
    sum += mix(word);
  }
  return sum;
}

// Rows of 17 to 31 bytes.
FLOWRUN_ROW_HASH uint64_t sum_of_quads(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i < num_rows; ++i) {
    const std::byte* const row = rows + i * row_bytes;
    const std::byte* const end = row + row_bytes;
    sum += mix(mix(mix(mix(load<uint64_t>(row)) + load<uint64_t>(row + 8)) + load<uint64_t>(end - 16)) +
               load<uint64_t>(end - 8));
  }
  return sum;
}

// Longer rows, as vectors of words; the last one may overlap the one before. Each word of a row has an odd factor of
// its own. The sums are multiplied by their neighbours, so that it counts which words came in one row.
template <size_t num_words>
struct word_vector {
  typedef uint64_t type __attribute__((vector_size(num_words * sizeof(uint64_t))));
};

template <size_t num_words>
FLOWRUN_ROW_HASH uint64_t sum_of_vectors(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  using words = typename word_vector<num_words>::type;
  constexpr uint64_t golden = 0x9E3779B97F4A7C15U;
  words first_factor{};
  words sum{};
  for (size_t lane = 0; lane < num_words; ++lane) first_factor[lane] = mix((lane + 1) * golden) | 1;
  for (size_t i = 0; i < num_rows; ++i) {
    const std::byte* const row = rows + i * row_bytes;
    words of_row = first_factor;
    words factor = first_factor;
    for (size_t at = 0;; at += sizeof(words)) {
      const bool last = at + sizeof(words) >= row_bytes;
      words x;
      std::memcpy(&x, last ? row + row_bytes - sizeof(words) : row + at, sizeof x);
      of_row += (x ^ x >> 32) * factor;
      if (last) break;
      factor += golden - 1;  // stays odd
    }
    of_row ^= of_row >> 29;
    words neighbour{};
    if constexpr (num_words == 8)
      neighbour = __builtin_shufflevector(of_row, of_row, 1, 2, 3, 4, 5, 6, 7, 0);
    else
      neighbour = __builtin_shufflevector(of_row, of_row, 1, 2, 3, 0);
    sum += of_row + of_row * neighbour;
  }
  uint64_t out = 0;
  for (size_t lane = 0; lane < num_words; ++lane) out += sum[lane];
  return out;
}

FLOWRUN_ROW_HASH uint64_t sum_of_rows(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  if (row_bytes == sizeof(uint64_t)) return sum_of_words<uint64_t>(rows, num_rows);
  if (row_bytes == sizeof(uint32_t)) return sum_of_words<uint32_t>(rows, num_rows);
  if (row_bytes == 2 * sizeof(uint64_t)) return sum_of_pairs(rows, num_rows, 2 * sizeof(uint64_t));
  if (row_bytes < sizeof(uint64_t)) return sum_of_short_rows(rows, num_rows, row_bytes);
  if (row_bytes < 2 * sizeof(uint64_t)) return sum_of_pairs(rows, num_rows, row_bytes);
  if (row_bytes < 4 * sizeof(uint64_t)) return sum_of_quads(rows, num_rows, row_bytes);
  if (row_bytes < 8 * sizeof(uint64_t)) return sum_of_vectors<4>(rows, num_rows, row_bytes);
  return sum_of_vectors<8>(rows, num_rows, row_bytes);
}

// The same code for each set of instructions; AVX-512 multiplies words of 64 bits.
using rows_sum = uint64_t (*)(const std::byte* rows, size_t num_rows, size_t row_bytes);
uint64_t sum_plain(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  return sum_of_rows(rows, num_rows, row_bytes);
}
__attribute__((target("avx2"))) uint64_t sum_avx2(const std::byte* rows, size_t num_rows, size_t row_bytes) {
  return sum_of_rows(rows, num_rows, row_bytes);
}
__attribute__((target("avx512f,avx512dq,avx512vl"))) uint64_t sum_avx512(const std::byte* rows, size_t num_rows,
                                                                         size_t row_bytes) {
  return sum_of_rows(rows, num_rows, row_bytes);
}

rows_sum best_sum() {
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return sum_avx512;
  return __builtin_cpu_supports("avx2") ? sum_avx2 : sum_plain;
}

}  // namespace

row_tallier::row_tallier(const row_type& type) : row_bytes_(type.row_bytes()), sum_(best_sum()) {
  for (const column& c : type.columns())
    if (c.type.is_string()) string_offsets_.push_back(c.offset);
}

// The fixed parts between the strings, and each string's content, chained by the seed.
uint64_t row_tallier::hash_with_strings(const std::byte* row, const std::byte* heap) const {
  uint64_t seed = 0;
  uint32_t from = 0;
  for (const uint32_t offset : string_offsets_) {
    if (offset > from) seed = XXH3_64bits_withSeed(row + from, offset - from, seed);
    const std::string_view text = load_string(row + offset, heap);
    seed = mix(XXH3_64bits_withSeed(text.data(), text.size(), seed) + text.size());
    from = offset + static_cast<uint32_t>(sizeof(string_ref));
  }
  return from < row_bytes_ ? XXH3_64bits_withSeed(row + from, row_bytes_ - from, seed) : seed;
}

row_tally row_tallier::tally(const batch& rows) const {
  row_tally out{rows.num_rows, 0};
  if (string_offsets_.empty())
    out.sum = sum_(rows.rows, rows.num_rows, row_bytes_);
  else
    for (size_t i = 0; i < rows.num_rows; ++i) out.sum += hash_with_strings(rows.row(i), rows.heap);
  return out;
}

}  // namespace flowrun::record
