#include "engine/io/event_clock.h"

#include <algorithm>
#include <utility>

#include "engine/base/mutex.h"

namespace flowrun::io {

void event_clock::schedule(uint64_t when, event what) {
  mutex_lock lock(mutex_);
  events_.push_back({std::max(when, now()), num_scheduled_++, std::move(what)});
  std::push_heap(events_.begin(), events_.end());
}

std::optional<event_clock::event> event_clock::take_due(uint64_t end) {
  mutex_lock lock(mutex_);
  if (events_.empty() || events_.front().when > end) return std::nullopt;
  std::pop_heap(events_.begin(), events_.end());
  entry due = std::move(events_.back());
  events_.pop_back();
  now_.store(std::max(due.when, now()), std::memory_order_relaxed);
  return std::move(due.what);
}

void event_clock::run_until(uint64_t end) {
  while (const std::optional<event> due = take_due(end)) (*due)();
  now_.store(std::max(end, now()), std::memory_order_relaxed);
}

bool event_clock::run_next() {
  const std::optional<event> due = take_due(UINT64_MAX);
  if (due) (*due)();
  return due.has_value();
}

uint64_t event_clock::run_until_idle() {
  while (run_next()) {
  }
  return now();
}

std::optional<uint64_t> event_clock::next_event() const {
  mutex_lock lock(mutex_);
  if (events_.empty()) return std::nullopt;
  return events_.front().when;
}

size_t event_clock::num_events() const {
  mutex_lock lock(mutex_);
  return events_.size();
}

}  // namespace flowrun::io
