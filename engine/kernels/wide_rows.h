// Rows that are sorted by index: how many bytes one takes, and the copies of single rows that runs keep in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/record/batch.h"
#include "engine/record/key.h"
#include "engine/record/key_words.h"

namespace flowrun::kernels {

// Copies a row: no call for the usual widths.
inline void copy_row(std::byte* to, const std::byte* from, size_t num_bytes) {
  constexpr size_t half = 16;
  if (num_bytes < half || num_bytes > 4 * half) {
    std::memcpy(to, from, num_bytes);
    return;
  }
  for (size_t i = half; i < num_bytes; i += half) std::memcpy(to + i - half, from + i - half, half);
  std::memcpy(to + num_bytes - half, from + num_bytes - half, half);
}

// Knows where the strings of a row type are. Thread-safe.
class wide_rows {
 public:
  wide_rows(const record::row_type& type, const record::key& key);

  uint32_t row_bytes() const { return row_bytes_; }
  bool has_strings() const { return !strings_.empty(); }
  bool has_strings_in_key() const { return std::find(in_key_.begin(), in_key_.end(), true) != in_key_.end(); }
  const std::vector<uint32_t>& strings() const { return strings_; }  // offsets of the string fields

  // Bytes of a row's strings.
  size_t heap_bytes(const std::byte* row) const {
    size_t num_bytes = 0;
    for (uint32_t offset : strings_) num_bytes += record::load_ref(row + offset).length;
    return num_bytes;
  }

  // Rows lie one behind the other, `num_left` behind this one: some of them will soon be in the cache, with their
  // strings. Merging many runs, the processor doesn't see by itself where each of them goes on.
  // (Inlined by force: GCC takes a function that only prefetches for one without effect, and drops calls of it.)
  [[gnu::always_inline]] void prefetch_next(const std::byte* row, const std::byte* heap, size_t num_left) const {
    constexpr size_t strings_ahead = 1, rows_ahead = 4, line = 64, max_lines = 4;
    if (num_left >= rows_ahead) {
      const std::byte* ahead = row + rows_ahead * row_bytes_;
      for (size_t i = 0; i < row_bytes_ && i < max_lines * line; i += line) __builtin_prefetch(ahead + i);
    }
    if (num_left < strings_ahead) return;
    for (uint32_t offset : strings_) {
      const record::string_ref ref = record::load_ref(row + strings_ahead * row_bytes_ + offset);
      for (size_t i = 0; i < ref.length && i < max_lines * line; i += line) __builtin_prefetch(heap + ref.offset + i);
    }
  }

  // Copies a row to `to`, its strings to below base + heap_end, and points the refs there, relative to `base`. Returns
  // the new heap_end.
  size_t place(const std::byte* row, const std::byte* heap, std::byte* base, std::byte* to, size_t heap_end) const {
    copy_row(to, row, row_bytes_);
    for (uint32_t offset : strings_) {
      record::string_ref ref = record::load_ref(row + offset);
      heap_end -= ref.length;
      if (ref.length > 0) std::memcpy(base + heap_end, heap + ref.offset, ref.length);
      ref.offset = static_cast<uint32_t>(heap_end);
      std::memcpy(to + offset, &ref, sizeof ref);
    }
    return heap_end;
  }

  // The part of the row in which the key's columns lie, with the key's strings behind it, refs relative to the copy's
  // start: enough to compare by, at copied_key(). `row` and `heap` lie outside of `copy`, whose content is replaced.
  void copy_key(const std::byte* row, const std::byte* heap, std::vector<std::byte>& copy) const;
  // Whether these bytes begin with such a copy, whatever they are: no comparison looks beyond them then.
  bool holds_key(std::span<const std::byte> copy) const;
  // The length of that copy.
  size_t key_bytes(const std::byte* row) const;
  // Where a row would lie of which `copy` is that part; only the key's columns may be looked at.
  record::row_place copied_key(const std::byte* copy) const { return copied_key(copy, key_begin_); }
  static record::row_place copied_key(const std::byte* copy, uint32_t key_begin) {
    // The row itself begins outside of the copy, which is no place that a pointer could be moved to.
    return {reinterpret_cast<const std::byte*>(reinterpret_cast<uintptr_t>(copy) - key_begin), copy};
  }
  uint32_t key_begin() const { return key_begin_; }

 private:
  uint32_t row_bytes_;
  uint32_t key_begin_ = 0;  // where the first of the key's columns begins
  uint32_t key_end_ = 0;    // where the last one ends
  std::vector<uint32_t> strings_;
  std::vector<bool> in_key_;  // by string
};

}  // namespace flowrun::kernels
