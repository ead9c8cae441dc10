// What a priority queue holds: numbers whose order is the order of the queue.
//
// Rows of at most 4, 8 or 16 bytes are u32, u64 and u128, the latter two as in sorts (record/row_codec.h); longer ones,
// up to 64 bytes, are several words, the most significant one first. Numbers of at most 16 bytes are sorted by SIMD;
// longer ones by std::sort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/kernels/word_sort.h"
#include "engine/record/key.h"
#include "engine/record/row_codec.h"

namespace flowrun::container {

using record::word128;

// A number of 64 * NumWords bits.
template <unsigned NumWords>
struct wide_item {
  uint64_t words[NumWords];  // the most significant one first

  friend bool operator<(const wide_item& a, const wide_item& b) {
    for (unsigned i = 0; i + 1 < NumWords; ++i)
      if (a.words[i] != b.words[i]) return a.words[i] < b.words[i];
    return a.words[NumWords - 1] < b.words[NumWords - 1];
  }
  friend bool operator==(const wide_item&, const wide_item&) = default;
};

using item256 = wide_item<4>;
using item512 = wide_item<8>;

template <class Item>
constexpr bool is_wide_item = sizeof(Item) > 16;

inline void sort_items(uint32_t* items, size_t num_items) { kernels::sort_words(items, num_items); }
inline void sort_items(uint64_t* items, size_t num_items) { kernels::sort_words(items, num_items); }
inline void sort_items(word128* items, size_t num_items) { kernels::sort_words(items, num_items); }
template <unsigned NumWords>
void sort_items(wide_item<NumWords>* items, size_t num_items) {
  std::sort(items, items + num_items);
}

// How items lie on scratch: their low `item_bytes` bytes, or, of wide ones, all.
template <class Item>
class item_packer {
 public:
  explicit item_packer(uint32_t item_bytes)
      : codec_(record::row_type({{"item", record::value_type::fixed_bytes(is_wide_item<Item> ? 1 : item_bytes)}}), {}),
        item_bytes_(is_wide_item<Item> ? sizeof(Item) : item_bytes) {}

  uint32_t row_bytes() const { return item_bytes_; }
  void pack(const Item* items, size_t num_items, std::byte* to) const {
    if (item_bytes_ == sizeof(Item))
      std::memcpy(to, items, num_items * sizeof(Item));
    else if constexpr (sizeof(Item) == sizeof(uint32_t))
      for (size_t i = 0; i < num_items; ++i) std::memcpy(to + i * item_bytes_, items + i, item_bytes_);
    else if constexpr (!is_wide_item<Item>)
      codec_.pack(items, num_items, to);
  }
  void unpack(const std::byte* from, size_t num_items, Item* items) const {
    if (item_bytes_ == sizeof(Item))
      std::memcpy(static_cast<void*>(items), from, num_items * sizeof(Item));
    else if constexpr (sizeof(Item) == sizeof(uint32_t))
      for (size_t i = 0; i < num_items; ++i) items[i] = at(from, i);
    else if constexpr (!is_wide_item<Item>)
      codec_.unpack(from, num_items, items);
  }
  // Item `i` of packed ones.
  Item at(const std::byte* packed, size_t i) const {
    Item item{};
    std::memcpy(static_cast<void*>(&item), packed + i * item_bytes_, item_bytes_);
    return item;
  }

 private:
  const record::row_codec codec_;
  const uint32_t item_bytes_;
};

// Puts the low `num_bits` <= 64 bits of `value`, whose other bits are zero, `shift` bits above the item's lowest bit.
template <class Item>
void put_bits(Item& item, uint64_t value, unsigned shift, unsigned num_bits) {
  if constexpr (!is_wide_item<Item>) {
    item |= static_cast<Item>(value) << shift;
  } else {
    constexpr unsigned last = sizeof(Item) / sizeof(uint64_t) - 1;
    const unsigned word = last - shift / 64, bit = shift % 64;
    item.words[word] |= value << bit;
    if (bit + num_bits > 64) item.words[word - 1] |= value >> (64 - bit);
  }
}

// The `num_bits` <= 64 bits that lie `shift` above the lowest one.
template <class Item>
uint64_t get_bits(const Item& item, unsigned shift, unsigned num_bits) {
  const uint64_t mask = num_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << num_bits) - 1;
  if constexpr (!is_wide_item<Item>) {
    return static_cast<uint64_t>(item >> shift) & mask;
  } else {
    constexpr unsigned last = sizeof(Item) / sizeof(uint64_t) - 1;
    const unsigned word = last - shift / 64, bit = shift % 64;
    uint64_t value = item.words[word] >> bit;
    if (bit + num_bits > 64) value |= item.words[word - 1] << (64 - bit);
    return value & mask;
  }
}

}  // namespace flowrun::container
