// What stays in memory of each block of a run while it lies on scratch. Of a terabyte there are a million blocks, so it
// is packed: 16 bytes for its place and its rows, and 8 for each of the following that any block of the run has.
//
//   word 0   offset in units of io_alignment, 40 bits │ disk, 24 bits
//   word 1   rows, 32 bits                            │ length in units of io_alignment, 32 bits
//   then     low half of the first key │ high half of it │ where the first row lies in run::first_rows
//
// So a block of a run of u64 has 24 bytes, one of rows with a key of at most 8 bytes 24, of longer keys 32 or 40.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/block/block_id.h"
#include "engine/record/key.h"

namespace flowrun::runs {

struct run_block {
  block::block_id id;         // its length is that of the stored block, which may be compressed
  record::word128 first = 0;  // narrow: the first word; wide: the first row's key prefix
  uint64_t first_row_at = 0;  // wide: where the first row lies in run::first_rows
  uint32_t num_rows = 0;
};

// A plain value, but for its memory.
class run_blocks {
 public:
  size_t size() const { return words_.size() / stride_; }
  bool empty() const { return words_.empty(); }
  run_block operator[](size_t i) const { return {id(i), first(i), first_row_at(i), num_rows(i)}; }
  run_block front() const { return (*this)[0]; }
  run_block back() const { return (*this)[size() - 1]; }
  block::block_id id(size_t i) const {
    const uint64_t* const block = at(i);
    return {static_cast<uint32_t>(block[0] & most_disk), static_cast<uint32_t>(block[1]) * unit,
            (block[0] >> disk_bits) * unit};
  }
  uint32_t num_rows(size_t i) const { return static_cast<uint32_t>(at(i)[1] >> 32U); }
  record::word128 first(size_t i) const { return record::word128{part(i, high)} << 64U | part(i, low); }
  uint64_t first_row_at(size_t i) const { return part(i, row_at); }

  // Whether it is a place that a block can have.
  static bool can_hold(const block::block_id& id) {
    return id.disk <= most_disk && id.offset % unit == 0 && id.offset / unit >> (64 - disk_bits) == 0 &&
           id.num_bytes % unit == 0;
  }
  // Of which can_hold(id) is true. Nothing has changed when there is no memory.
  void push_back(const run_block& b) {
    const std::array<uint64_t, num_parts> parts{static_cast<uint64_t>(b.first), static_cast<uint64_t>(b.first >> 64U),
                                                b.first_row_at};
    for (unsigned p = 0; p < num_parts; ++p)
      if (parts[p] != 0 && !has(p)) add_part(p);
    std::array<uint64_t, 2 + num_parts> block{place_of(b.id), length_of(b.id) | uint64_t{b.num_rows} << 32U};
    size_t size = 2;
    for (unsigned p = 0; p < num_parts; ++p)
      if (has(p)) block[size++] = parts[p];
    words_.insert(words_.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size));
  }
  // Of which can_hold() is true.
  void set_id(size_t i, const block::block_id& id) {
    words_[i * stride_] = place_of(id);
    words_[i * stride_ + 1] = words_[i * stride_ + 1] >> 32U << 32U | length_of(id);
  }
  // Only the first ones stay.
  void shorten(size_t num_blocks) noexcept { words_.resize(std::min(words_.size(), num_blocks * stride_)); }
  void drop_front(size_t num_blocks) {
    words_.erase(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(num_blocks * stride_));
  }
  // No more blocks come.
  void shrink_to_fit() { words_.shrink_to_fit(); }
  // That they take in memory.
  uint64_t num_bytes() const { return words_.size() * sizeof(uint64_t); }

  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = run_block;
    using difference_type = std::ptrdiff_t;
    using pointer = const run_block*;
    using reference = run_block;
    iterator(const run_blocks& list, size_t i) : list_(&list), i_(i) {}
    run_block operator*() const { return (*list_)[i_]; }
    iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator==(const iterator& other) const { return i_ == other.i_; }

   private:
    const run_blocks* list_;
    size_t i_;
  };
  iterator begin() const { return {*this, 0}; }
  iterator end() const { return {*this, size()}; }

 private:
  static constexpr uint32_t unit = io_alignment;
  static constexpr unsigned disk_bits = 24;
  static constexpr uint32_t most_disk = (uint32_t{1} << disk_bits) - 1;
  // What only some runs have, in this order.
  static constexpr unsigned low = 0, high = 1, row_at = 2, num_parts = 3;

  static uint64_t place_of(const block::block_id& id) {
    FLOWRUN_CHECK(can_hold(id));
    return id.offset / unit << disk_bits | id.disk;
  }
  static uint64_t length_of(const block::block_id& id) { return id.num_bytes / unit; }

  const uint64_t* at(size_t i) const { return words_.data() + i * stride_; }
  bool has(unsigned p) const { return (parts_ >> p & 1U) != 0; }
  // Of the words of a block.
  size_t index_of(unsigned p) const { return 2 + static_cast<size_t>(std::popcount(parts_ & ((1U << p) - 1))); }
  uint64_t part(size_t i, unsigned p) const { return has(p) ? at(i)[index_of(p)] : 0; }
  // The blocks so far have 0 there.
  void add_part(unsigned p) {
    std::vector<uint64_t> wider;
    wider.reserve((size() + 1) * (stride_ + 1));
    const auto before = static_cast<std::ptrdiff_t>(index_of(p));
    for (auto block = words_.begin(); block != words_.end(); block += static_cast<std::ptrdiff_t>(stride_)) {
      wider.insert(wider.end(), block, block + before);
      wider.push_back(0);
      wider.insert(wider.end(), block + before, block + static_cast<std::ptrdiff_t>(stride_));
    }
    words_ = std::move(wider);
    parts_ |= 1U << p;
    ++stride_;
  }

  std::vector<uint64_t> words_;  // block by block
  uint32_t stride_ = 2;          // of each
  uint32_t parts_ = 0;           // a bit for each that they have
};

}  // namespace flowrun::runs
