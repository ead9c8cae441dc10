#include "engine/sort/slice_lanes.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::sort {

namespace {

constexpr size_t prefetch_distance = 16;

}  // namespace

slice_lanes::slice_lanes(const kernels::row_slices& slices, const sort_settings& settings, const task_poster& post,
                         size_t num_lanes)
    : slices_(slices),
      rows_(settings.type, settings.key),
      comparator_(settings.type, settings.key),
      unique_(settings.unique),
      combiner_(settings.combiner) {
  for (size_t i = 0; i < std::max<size_t>(num_lanes, 1); ++i) lanes_.push_back(std::make_unique<lane>(post));
}

void slice_lanes::shutdown() {
  for (const std::unique_ptr<lane>& l : lanes_) l->merging.shutdown();
}

void slice_lanes::start(kernels::row_slice slice) {
  FLOWRUN_CHECK(has_room());
  lane& l = *lanes_[(first_ + num_busy_++) % lanes_.size()];
  l.slice = std::move(slice);
  if (lanes_.size() == 1 || l.slice.parts.size() == 1) return merge(l);
  l.merging.start([this, &l](waker&) {
    merge(l);
    return outcome::done();
  });
}

outcome slice_lanes::next(std::span<const record::row_place>& rows, waker& w) {
  while (num_busy_ > 0) {
    lane& oldest = *lanes_[first_];
    if (const outcome o = oldest.merging.idle(&w); o.is_blocked()) return o;
    if (unique_ || combiner_) fold(oldest.rows);
    rows = oldest.rows;
    if (!rows.empty()) return outcome::ready();
    pop();
  }
  if (closed_ && std::exchange(one_waits_, false)) {
    last_.row = last_.heap = copies_[newest_copy_].data();
    rows = {&last_, 1};
    return outcome::ready();
  }
  closed_ = false;
  return outcome::done();
}

void slice_lanes::pop() {
  if (num_busy_ == 0) return;  // it was the one that waited
  lane& oldest = *lanes_[first_];
  oldest.slice = {};
  oldest.rows.clear();
  first_ = (first_ + 1) % lanes_.size();
  --num_busy_;
}

void slice_lanes::merge(lane& l) const {
  slices_.merge(l.slice.parts, unique_ && l.slice.parts.size() > 1, l.rows);
  if (combiner_) combine(l.rows);
}

// Adds the rows of each key to its first one.
void slice_lanes::combine(std::vector<record::row_place>& rows) const {
  size_t last = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (i + prefetch_distance < rows.size()) __builtin_prefetch(rows[i + prefetch_distance].row);
    if (have_equal_keys(rows[last], rows[i]))
      combiner_->add(const_cast<std::byte*>(rows[last].row), rows[i].row);  // the slice is ours alone
    else
      rows[++last] = rows[i];
  }
  rows.resize(last + 1);
}

// The row that waits comes in front, or takes in the first one; the last one waits now.
void slice_lanes::fold(std::vector<record::row_place>& rows) {
  if (one_waits_) {
    std::vector<std::byte>& copy = copies_[newest_copy_];
    const record::row_place waiting{copy.data(), copy.data()};
    if (have_equal_keys(waiting, rows.front())) {
      if (combiner_) combiner_->add(copy.data(), rows.front().row);
      rows.front() = waiting;
    } else {
      rows.insert(rows.begin(), waiting);
    }
  }
  const record::row_place newest = rows.back();
  rows.pop_back();
  newest_copy_ = 1 - newest_copy_;
  std::vector<std::byte>& copy = copies_[newest_copy_];
  copy.resize(rows_.row_bytes() + rows_.heap_bytes(newest.row));
  rows_.place(newest.row, newest.heap, copy.data(), copy.data(), copy.size());
  one_waits_ = true;
}

}  // namespace flowrun::sort
