#include "operators/parts/algorithms/suffix_order.h"

#include <algorithm>
#include <utility>

namespace flowrun::operators {

namespace {

constexpr int32_t empty = -1;
constexpr size_t chunk = 1 << 16;        // positions of a linear stage in one step
constexpr size_t ahead = 32;             // positions that places are asked for before they are needed
constexpr size_t small_group = 1 << 14;  // beyond, groups are split in place first

void ask_for(const void* place) { __builtin_prefetch(place); }
void ask_for_writing(const void* place) { __builtin_prefetch(place, 1); }

}  // namespace

uint64_t suffix_order::memory_bytes(uint64_t num_letters, uint64_t num_symbols) {
  return 8 * (num_letters + 1) + (num_symbols > num_letters + 1 ? 4 * num_symbols : 0);
}

suffix_order::suffix_order(uint64_t capacity)
    : rank_(4 * static_cast<size_t>(capacity + 1)), order_(4 * static_cast<size_t>(capacity + 1)) {}

bool suffix_order::step() {
  switch (stage_) {
    case stage::begin: count_letters(); break;
    case stage::place: place_letters(); break;
    case stage::group: group_letters(); break;
    case stage::refine: refine_groups(); break;
    case stage::invert: invert(); break;
    case stage::finished: break;
  }
  return stage_ != stage::finished;
}

// A letter becomes the place where its group begins: the number of smaller letters. Three passes in one step, for which
// `order` lends its place where there are no more symbols than letters.
void suffix_order::count_letters() {
  std::vector<uint32_t> own;
  auto* counts = reinterpret_cast<uint32_t*>(order());
  if (num_symbols() > num_letters_ + 1) {
    own.resize(num_symbols());
    counts = own.data();
  } else {
    std::fill_n(counts, num_symbols(), 0);
  }
  uint32_t* const letters = rank();
  for (size_t i = 0; i < num_letters_; ++i) {
    if (i + ahead < num_letters_) ask_for_writing(counts + letters[i + ahead]);
    ++counts[letters[i]];
  }
  uint32_t smaller = 0;
  for (size_t symbol = 0; symbol < num_symbols(); ++symbol) smaller += std::exchange(counts[symbol], smaller);
  for (size_t i = 0; i < num_letters_; ++i) {
    if (i + ahead < num_letters_) ask_for(counts + letters[i + ahead]);
    letters[i] = counts[letters[i]];
  }
  letters[num_letters_] = 0;
  std::fill_n(order(), num_letters_, empty);
  stage_ = stage::place;
}

// Puts the suffixes into their groups. The first suffix of a group stands at the group's beginning. Its rank is not
// read again, so the rank's place holds where the next suffix of the group goes.
void suffix_order::place_letters() {
  const size_t end = std::min(num_letters_, at_ + chunk);
  for (; at_ < end; ++at_) {
    if (at_ + ahead < num_letters_) ask_for_writing(order() + rank()[at_ + ahead]);
    const uint32_t begin = rank()[at_];
    const int32_t first = order()[begin];
    if (first == empty) {
      order()[begin] = static_cast<int32_t>(at_);
      rank()[at_] = begin + 1;
    } else {
      order()[rank()[static_cast<size_t>(first)]++] = static_cast<int32_t>(at_);
    }
  }
  if (at_ < num_letters_) return;
  at_ = 0;
  stage_ = stage::group;
}

// Every rank becomes the end of its group.
void suffix_order::group_letters() {
  const size_t end = std::min(num_letters_, at_ + chunk);
  while (at_ < end) {
    if (at_ + ahead < num_letters_) ask_for_writing(rank() + order()[at_ + ahead]);
    const uint32_t group_end = rank()[order()[at_]];
    if (group_end == at_ + 1) {
      order()[at_++] = -1;
      continue;
    }
    for (; at_ < group_end; ++at_) {
      if (at_ + ahead < num_letters_) ask_for_writing(rank() + order()[at_ + ahead]);
      rank()[order()[at_]] = group_end;
    }
  }
  if (at_ < num_letters_) return;
  begin_round();
}

void suffix_order::begin_round() {
  at_ = 0;
  sorted_from_ = 0;
  any_group_ = false;
  stage_ = stage::refine;
}

void suffix_order::mark_sorted(size_t from, size_t count) {
  if (count > 0) order()[from] = -static_cast<int32_t>(count);
}

// One round goes through all groups. It also joins the sorted stretches between them, so that later rounds pass each of
// them in one step.
void suffix_order::refine_groups() {
  size_t work = 0;
  while ((at_ < num_letters_ || !waiting_.empty()) && work < chunk) {
    if (!waiting_.empty()) {
      const part next = waiting_.back();
      waiting_.pop_back();
      work += next.to - next.from;
      next.is_equal ? set_group(next.from, next.to) : sort_group(next.from, next.to);
      continue;
    }
    const int32_t first = order()[at_];
    ++work;
    if (first < 0) {
      at_ += static_cast<size_t>(-static_cast<int64_t>(first));
      continue;
    }
    mark_sorted(sorted_from_, at_ - sorted_from_);
    const size_t group_end = rank()[first];
    // The groups behind this one are mostly small. The ranks that they will need are fetched meanwhile.
    for (size_t i = group_end; i < std::min(group_end + ahead / 2, num_letters_); ++i)
      if (order()[i] >= 0) ask_for(rank() + order()[i] + depth_);
    work += group_end - at_;
    sort_group(at_, group_end);
    any_group_ = true;
    at_ = group_end;
    sorted_from_ = group_end;
  }
  if (at_ < num_letters_ || !waiting_.empty()) return;
  mark_sorted(sorted_from_, num_letters_ - sorted_from_);
  depth_ *= 2;
  if (any_group_) return begin_round();
  at_ = 0;
  stage_ = stage::invert;
}

// Larger groups are split at a key until their parts are small or equal. The parts wait for their turn, so that a step
// is a pass over one part at most. They take turns from the left to the right: a suffix without a new rank still has
// the rank of the whole group, which is larger than the new ranks of its first parts. Meanwhile the keys of the
// remaining suffixes may have become finer. This does no harm, since the order of what they stand for has not changed.
void suffix_order::sort_group(size_t from, size_t to) {
  if (to - from <= small_group) return sort_small_group(from, to);
  const uint32_t pivot = pivot_of(from, to);
  size_t less_end = from, at = from, greater = to;
  while (at < greater) {
    if (at + ahead < greater) ask_for(rank() + order()[at + ahead] + depth_);
    const uint32_t key = key_of(order()[at]);
    if (key < pivot)
      std::swap(order()[less_end++], order()[at++]);
    else if (key > pivot)
      std::swap(order()[at], order()[--greater]);
    else
      ++at;
  }
  if (greater < to) waiting_.push_back({greater, to, false});
  waiting_.push_back({less_end, greater, true});
  if (from < less_end) waiting_.push_back({from, less_end, false});
}

uint32_t suffix_order::pivot_of(size_t from, size_t to) {
  constexpr size_t num_samples = 31;
  uint32_t keys[num_samples];
  for (size_t i = 0; i < num_samples; ++i) keys[i] = key_of(order()[from + (to - from - 1) / (num_samples - 1) * i]);
  std::nth_element(keys, keys + num_samples / 2, keys + num_samples);
  return keys[num_samples / 2];
}

void suffix_order::sort_small_group(size_t from, size_t to) {
  if (to - from == 2) {
    const int32_t a = order()[from], b = order()[from + 1];
    const uint32_t key_a = key_of(a), key_b = key_of(b);
    if (key_a == key_b) return set_group(from, to);
    order()[from] = key_a < key_b ? a : b;
    order()[from + 1] = key_a < key_b ? b : a;
    set_group(from, from + 1);
    set_group(from + 1, to);
    return;
  }
  keyed_.clear();
  for (size_t i = from; i < to; ++i) {
    if (i + ahead < to) ask_for(rank() + order()[i + ahead] + depth_);
    const int32_t suffix = order()[i];
    keyed_.push_back(uint64_t{key_of(suffix)} << 32 | static_cast<uint32_t>(suffix));
  }
  std::sort(keyed_.begin(), keyed_.end());
  for (size_t i = 0; i < keyed_.size(); ++i) order()[from + i] = static_cast<int32_t>(keyed_[i] & 0xffffffff);
  for (size_t begin = 0; begin < keyed_.size();) {
    size_t end = begin + 1;
    while (end < keyed_.size() && keyed_[end] >> 32 == keyed_[begin] >> 32) ++end;
    set_group(from + begin, from + end);
    begin = end;
  }
}

void suffix_order::set_group(size_t from, size_t to) {
  for (size_t i = from; i < to; ++i) rank()[order()[i]] = static_cast<uint32_t>(to);
  if (to - from == 1) order()[from] = -1;
}

// All ranks are different now: 1 + the final place.
void suffix_order::invert() {
  const size_t end = std::min(num_letters_, at_ + chunk);
  for (; at_ < end; ++at_) {
    if (at_ + ahead < num_letters_) ask_for_writing(order() + rank()[at_ + ahead] - 1);
    order()[rank()[at_] - 1] = static_cast<int32_t>(at_);
  }
  if (at_ == num_letters_) stage_ = stage::finished;
}

}  // namespace flowrun::operators
