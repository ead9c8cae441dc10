// The order of the suffixes of a string of numbers, in memory: 8 bytes for each letter.
//
// Prefix doubling as in Larsson and Sadakane, "Faster suffix sorting" (2007): suffixes that agree in their first h
// letters are a group and lie side by side; a group is sorted by the groups of the suffixes h further on, which makes
// h twice as large. What is alone in its group is not looked at again, so the time depends on how long the repetitions
// are: on names of a difference cover sample, most of which occur once, it is little more than one pass.
//
//   rank    of each position: where its group ends in `order`; 0 for the empty suffix behind the last letter
//   order   suffixes by group; in place of suffixes that have their final place, how many there are in a row, as -n
//
// Memory is what its time goes into: places are asked for some steps before they are needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/buffer.h"

namespace flowrun::operators {

// One thread at a time. add() each letter, then step() until it says false, then suffixes().
class suffix_order {
 public:
  static constexpr uint64_t most_letters = (uint64_t{1} << 31) - 2;

  // Bytes that so many letters below `num_symbols` take: 8 for each, and 4 for each symbol beyond their number.
  static uint64_t memory_bytes(uint64_t num_letters, uint64_t num_symbols);

  // For up to `capacity` <= most_letters letters.
  explicit suffix_order(uint64_t capacity);

  void add(uint32_t letter) {
    largest_ = letter > largest_ ? letter : largest_;
    rank()[num_letters_++] = letter;
  }
  uint64_t num_letters() const { return num_letters_; }
  uint64_t num_symbols() const { return uint64_t{largest_} + 1; }

  // Works for about a millisecond (longer while it counts the letters, and for a pass over a group of millions). False:
  // finished.
  bool step();
  // Of a finished one: the suffixes in ascending order; one comes before those that it begins.
  std::span<const int32_t> suffixes() const { return {order(), num_letters_}; }

 private:
  enum class stage : uint8_t { begin, place, group, refine, invert, finished };
  // Of a group that is being sorted: to be sorted, or found equal, and a group by itself.
  struct part {
    size_t from, to;
    bool is_equal;
  };

  uint32_t* rank() { return reinterpret_cast<uint32_t*>(rank_.data()); }
  int32_t* order() { return reinterpret_cast<int32_t*>(order_.data()); }
  const int32_t* order() const { return reinterpret_cast<const int32_t*>(order_.data()); }

  void count_letters();
  void place_letters();
  void group_letters();
  void refine_groups();
  void invert();
  void begin_round();
  void mark_sorted(size_t from, size_t count);
  uint32_t key_of(int32_t suffix) { return rank()[static_cast<size_t>(suffix) + depth_]; }
  void sort_group(size_t from, size_t to);
  void sort_small_group(size_t from, size_t to);
  uint32_t pivot_of(size_t from, size_t to);
  void set_group(size_t from, size_t to);

  aligned_buffer rank_, order_;
  size_t num_letters_ = 0;
  uint32_t largest_ = 0;
  stage stage_ = stage::begin;
  size_t at_ = 0;              // where the stage stands
  size_t depth_ = 1;           // by how many letters the groups are sorted
  size_t sorted_from_ = 0;     // of a round: where the suffixes in their final places before at_ begin
  bool any_group_ = false;     // of a round: whether it met any
  std::vector<part> waiting_;  // the first one last
  std::vector<uint64_t> keyed_;
};

}  // namespace flowrun::operators
