#include "engine/io/disk_queue.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace flowrun::io {

size_t offset_set::find(uint64_t offset) const {
  size_t at = home(offset);
  while (slots_[at] != offset && slots_[at] != nothing) at = (at + 1) & (slots_.size() - 1);
  return at;
}

bool offset_set::insert(uint64_t offset) {
  const size_t at = find(offset);
  if (slots_[at] == offset) return false;
  slots_[at] = offset;
  if (++num_offsets_ * 2 > slots_.size()) grow();
  return true;
}

void offset_set::erase(uint64_t offset) {
  size_t hole = find(offset);
  if (slots_[hole] == nothing) return;
  --num_offsets_;
  // What was pushed on by the erased one moves back, so that no search ends at the hole too early.
  const size_t mask = slots_.size() - 1;
  for (size_t at = (hole + 1) & mask; slots_[at] != nothing; at = (at + 1) & mask) {
    if (((at - home(slots_[at])) & mask) < ((at - hole) & mask)) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = nothing;
}

void offset_set::grow() {
  const std::vector<uint64_t> old = std::exchange(slots_, std::vector<uint64_t>(slots_.size() * 2, nothing));
  for (uint64_t offset : old)
    if (offset != nothing) slots_[find(offset)] = offset;
}

void disk_queue::waiting_list::push(request& added) {
  added.next = nullptr;
  added.previous = last;
  (last == nullptr ? first : last->next) = &added;
  last = &added;
}

void disk_queue::waiting_list::unlink(request& one) {
  (one.previous == nullptr ? first : one.previous->next) = one.next;
  (one.next == nullptr ? last : one.next->previous) = one.previous;
  one.next = one.previous = nullptr;
}

bool disk_queue::in_flight(uint64_t offset) const {
  mutex_lock lock(mutex_);
  return written_.contains(offset) || read_.contains(offset);
}

void disk_queue::begin(const request& added) {
  FLOWRUN_CHECK(!written_.contains(added.offset));
  if (added.way == direction::read) {
    if (!read_.insert(added.offset)) ++more_reads_[added.offset];
  } else {
    FLOWRUN_CHECK(!read_.contains(added.offset));
    written_.insert(added.offset);
  }
}

void disk_queue::end(const request& over) {
  if (over.way == direction::write) return written_.erase(over.offset);
  const auto more = more_reads_.find(over.offset);
  if (more == more_reads_.end()) return read_.erase(over.offset);
  if (--more->second == 0) more_reads_.erase(more);
}

void disk_queue::enter(request& added, request_queue& admitted) {
  mutex_lock lock(mutex_);
  if (exclusive_) begin(added);
  list_of(added.way).push(added);
  admit(admitted);
}

void disk_queue::leave(request& over, request_queue& admitted) {
  mutex_lock lock(mutex_);
  if (exclusive_) end(over);
  --num_under_way_;
  admit(admitted);
}

bool disk_queue::withdraw(request& waiting) {
  mutex_lock lock(mutex_);
  waiting_list& list = list_of(waiting.way);
  if (!list.contains(waiting)) return false;
  list.unlink(waiting);
  if (exclusive_) end(waiting);
  return true;
}

void disk_queue::admit(request_queue& admitted) {
  while (num_under_way_ < depth_) {
    bool write = writes_.first != nullptr;
    if (order_ == service_order::alternating && write && others_.first != nullptr)
      write = num_in_a_row_ < most_in_a_row ? last_was_write_ : !last_was_write_;
    waiting_list& list = write ? writes_ : others_;
    request* const next = list.first;
    if (next == nullptr) return;
    list.unlink(*next);
    const bool is_write = next->way == direction::write;
    num_in_a_row_ = is_write == last_was_write_ ? num_in_a_row_ + 1 : 1;
    last_was_write_ = is_write;
    ++num_under_way_;
    admitted.push(*next);
  }
}

}  // namespace flowrun::io
