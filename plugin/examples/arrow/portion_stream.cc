#include "portion_stream.h"

#include <utility>

namespace columnar {

portion_stream::portion_stream(const fr::job& job, std::vector<source_file> files, counting_pool& pool)
    : job_(job), waker_(job.waker()), files_(std::move(files)), pool_(pool) {
  for (size_t f = 0; f < files_.size(); ++f)
    for (int i = 0; i < files_[f].file->num_portions(); ++i) places_.push_back({f, i});
}

fr::outcome portion_stream::next(std::shared_ptr<arrow::RecordBatch>& rows, origin& from) {
  for (;;) {
    look_ahead();
    if (window_.empty()) return fr::outcome::done();
    const std::shared_ptr<decoding> front = window_.front();
    rows = nullptr;
    bool is_done = false;
    {
      const std::lock_guard lock(mutex_);
      front->stops_ahead = true;  // from here on it is decoded without waits
      if (!front->decoded.empty()) {
        rows = std::move(front->decoded.front());
        front->decoded.pop_front();
      } else if (front->failed) {
        std::rethrow_exception(front->failed);
      } else if (front->is_running) {
        is_waiting_ = true;
        return fr::outcome::blocked();
      }
      is_done = front->is_done;
    }
    try {
      if (rows == nullptr && !is_done) rows = decode(*front);
    } catch (const fr::error& e) {
      if (e.kind() != FR_RESOURCES) throw;
      const freed what = give_up_what_is_ahead();
      if (what == freed::nothing) throw;
      if (what == freed::soon) return fr::outcome::blocked(FR_BLOCKED_MEMORY);
      continue;
    }
    if (rows == nullptr) {
      window_.pop_front();
      continue;
    }
    from = {front->from.file, front->from.number, std::exchange(front->next_row, front->next_row + rows->num_rows())};
    if (rows->num_rows() > 0) return fr::outcome::ready();
  }
}

// Null behind the last batch. One that failed begins anew, behind what it has given.
std::shared_ptr<arrow::RecordBatch> portion_stream::decode(decoding& d) {
  const source_file& from = files_[d.from.file];
  try {
    if (!d.open) {
      d.open = from.file->open(d.from.number, from.how);
      for (uint64_t i = 0; i < d.num_decoded; ++i) d.open->next();
    }
    std::shared_ptr<arrow::RecordBatch> rows = d.open->next();
    if (rows != nullptr) {
      ++d.num_decoded;
    } else {
      d.open.reset();
      begun_ -= d.memory;
    }
    return rows;
  } catch (...) {
    d.open.reset();
    throw;
  }
}

portion_stream::freed portion_stream::give_up_what_is_ahead() {
  const std::lock_guard lock(mutex_);
  freed out = freed::nothing;
  for (size_t i = 1; i < window_.size(); ++i) {
    decoding& d = *window_[i];
    d.stops_ahead = true;
    if (d.is_running) {
      is_waiting_ = true;
      out = freed::soon;
    } else if (d.open || d.num_decoded > 0) {
      if (d.is_done) begun_ += d.memory;
      d.decoded.clear();
      d.open.reset();
      d.num_decoded = 0;
      d.is_done = false;
      if (out == freed::nothing) out = freed::some;
    }
  }
  return out;
}

// Fills the window; what waits in it for memory goes on where there is some again.
void portion_stream::look_ahead() {
  const size_t most = job_.threads() == 1 ? 1 : job_.threads() + 1;
  while (next_place_ < places_.size() && window_.size() < most) {
    const place from = places_[next_place_];
    const source_file& file = files_[from.file];
    auto d = std::make_shared<decoding>();
    d->from = from;
    d->memory = file.file->memory_of(from.number, file.how.fields, false);
    if (!window_.empty() && !has_room_for(d->memory)) break;
    file.file->announce(from.number, file.how.fields);
    begun_ += d->memory;
    window_.push_back(std::move(d));
    ++next_place_;
  }
  for (size_t i = 1; i < window_.size() && has_room_for(0); ++i) {
    const std::lock_guard lock(mutex_);
    decoding& d = *window_[i];
    if (d.is_running || d.is_done || d.failed || d.stops_ahead) continue;
    d.is_running = true;
    spawn(window_[i]);
  }
}

bool portion_stream::has_room_for(int64_t more) const {
  return pool_.bytes_allocated() + begun_ + more <= pool_.most_bytes();
}

void portion_stream::spawn(const std::shared_ptr<decoding>& d) {
  job_.spawn([this, d] { work(d); });
}

// One batch, and then again. What a job that is cancelled leaves undone nobody asks for.
void portion_stream::work(const std::shared_ptr<decoding>& d) {
  std::shared_ptr<arrow::RecordBatch> rows;
  std::exception_ptr failed;
  bool is_left = job_.cancelled();
  try {
    if (!is_left) rows = decode(*d);
  } catch (const fr::error& e) {
    // For want of memory: it waits until it is the front, which has more.
    if (e.kind() == FR_RESOURCES)
      is_left = true;
    else
      failed = std::current_exception();
  } catch (...) {
    failed = std::current_exception();
  }
  bool goes_on = rows != nullptr && has_room_for(0);
  bool wakes = false;
  {
    const std::lock_guard lock(mutex_);
    goes_on = goes_on && !d->stops_ahead;
    d->stops_ahead = d->stops_ahead || is_left;
    d->is_done = rows == nullptr && !failed && !is_left;
    d->failed = failed;
    if (rows != nullptr) d->decoded.push_back(std::move(rows));
    d->is_running = goes_on;
    wakes = std::exchange(is_waiting_, false);
  }
  if (goes_on) spawn(d);
  if (wakes) waker_.wake();
}

}  // namespace columnar
