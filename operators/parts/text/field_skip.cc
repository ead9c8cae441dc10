#include "operators/parts/text/field_skip.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace flowrun::operators {

namespace {

#ifdef __SSE2__
constexpr ptrdiff_t block_bytes = 64;

// The bytes of a block that are equal to `byte`, the first one as the lowest bit.
inline __attribute__((always_inline)) uint64_t equal_in_block(const char* p, char byte) {
  const __m128i wanted = _mm_set1_epi8(byte);
  uint64_t found = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    found |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part, wanted)))} << (16 * i);
  }
  return found;
}
#endif

// Behind the quoted field that begins at `p`, before its delimiter or '\n' (or end); null when it is malformed.
const char* behind_quoted(const char* p, const char* end, const csv_format& format) {
  bool escaped = false;
  p = find_closing_quote(p + 1, end, *format.quote, escaped);
  if (p == end) return nullptr;
  ++p;
  if (p != end && *p == '\r' && (p + 1 == end || p[1] == '\n')) ++p;
  return p == end || *p == format.delimiter || *p == '\n' ? p : nullptr;
}

// Behind the first `count` delimiters from `p`, the beginning of a field; or, to the record's end, behind its '\n' when
// exactly so many come before it. The same code for each set of instructions.
template <bool to_record_end>
inline __attribute__((always_inline)) const char* pass_fields(const char* p, const char* end, size_t count,
                                                              const csv_format& format) {
  const char delimiter = format.delimiter;
  bool at_field = true;  // p is the beginning of a field
#ifdef __SSE2__
  const bool quotes = format.quote.has_value();
  const char quote = format.quote.value_or('\n');
  while (end - p >= block_bytes) {
    const uint64_t lines = equal_in_block(p, '\n');
    uint64_t delimiters = equal_in_block(p, delimiter) & ((lines & (0 - lines)) - 1);  // those before the line's end
    // A quote opens a field where it is the first byte. That field is passed by itself.
    const uint64_t opens = quotes ? equal_in_block(p, quote) & (delimiters << 1 | (at_field ? 1 : 0)) : 0;
    if (opens != 0) [[unlikely]]
      delimiters &= (opens & (0 - opens)) - 1;
    const auto passed = static_cast<size_t>(__builtin_popcountll(delimiters));
    if (to_record_end && passed > count) return nullptr;
    if (!to_record_end && passed >= count) {
      for (size_t i = 1; i < count; ++i) delimiters &= delimiters - 1;
      return p + std::countr_zero(delimiters) + 1;
    }
    count -= passed;
    if (opens != 0) [[unlikely]] {
      p = behind_quoted(p + std::countr_zero(opens), end, format);
      if (p == nullptr) return nullptr;
      at_field = false;
      continue;
    }
    if (lines != 0) return to_record_end && count == 0 ? p + std::countr_zero(lines) + 1 : nullptr;
    at_field = delimiters >> 63 != 0;
    p += block_bytes;
  }
#endif
  while (to_record_end || count > 0) {
    if (at_field && p != end && format.quote && *p == *format.quote) {
      p = behind_quoted(p, end, format);
      if (p == nullptr) return nullptr;
    }
    p = find_either(p, end, delimiter, '\n');
    if (p == end || *p == '\n') {
      if (!to_record_end || count > 0) return nullptr;
      return p == end ? end : p + 1;
    }
    if (to_record_end && count == 0) return nullptr;
    --count;
    ++p;
    at_field = true;
  }
  return p;
}

const char* pass(const char* p, const char* end, size_t count, const csv_format& format) {
  return pass_fields<false>(p, end, count, format);
}
const char* pass_to_end(const char* p, const char* end, size_t count, const csv_format& format) {
  return pass_fields<true>(p, end, count, format);
}

#ifdef __SSE2__
__attribute__((target("avx2,popcnt,bmi"))) const char* pass_avx2(const char* p, const char* end, size_t count,
                                                                 const csv_format& format) {
  return pass_fields<false>(p, end, count, format);
}
__attribute__((target("avx2,popcnt,bmi"))) const char* pass_to_end_avx2(const char* p, const char* end, size_t count,
                                                                        const csv_format& format) {
  return pass_fields<true>(p, end, count, format);
}
#endif

}  // namespace

field_skip::field_skip(const csv_format& format) : format_(format), pass_(operators::pass), pass_to_end_(pass_to_end) {
#ifdef __SSE2__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt") || !__builtin_cpu_supports("bmi")) return;
  pass_ = pass_avx2;
  pass_to_end_ = pass_to_end_avx2;
#endif
}

}  // namespace flowrun::operators
