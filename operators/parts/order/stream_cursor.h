// A row at a time from one input of a meeting node (merge, join, zip, concat), with the words of the rows' keys.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/operator.h"
#include "engine/record/key_fronts.h"

namespace flowrun::operators {

class stream_cursor {
 public:
  // `words` may be null, else outlives the cursor.
  stream_cursor(exec::input_stream& in, const record::key_fronts* words) : in_(&in), words_(words) {}

  // ready: there is a current row. blocked: `w` will be woken. done: the stream has ended. Cheap when there is a row.
  outcome fill(waker& w) {
    if (position_ < batch_.num_rows) return outcome::ready();
    return next_batch(w);
  }
  bool has_row() const { return position_ < batch_.num_rows; }
  bool ended() const { return ended_; }

  // The current row.
  const std::byte* row() const { return batch_.row(position_); }
  const std::byte* heap() const { return batch_.heap; }
  uint64_t word() const { return word_list_[position_]; }

  // The current batch; rows before position() are past.
  const record::batch& rows() const { return batch_; }
  size_t position() const { return position_; }
  size_t rows_left() const { return batch_.num_rows - position_; }
  const std::vector<uint64_t>& words() const { return word_list_; }

  void advance(size_t count = 1) { position_ += count; }
  // Rows passed since the start of the stream: the current row's number, from 0.
  uint64_t row_number() const { return rows_before_ + position_; }

 private:
  outcome next_batch(waker& w) {
    while (position_ == batch_.num_rows) {
      if (ended_) return outcome::done();
      const record::batch* front = nullptr;
      const outcome o = in_->peek(front, w);
      if (o.is_blocked()) return o;
      rows_before_ += batch_.num_rows;
      position_ = 0;
      if (o.is_done()) {
        ended_ = true;
        batch_ = {};
        return outcome::done();
      }
      batch_ = *front;
      in_->pop();
      if (words_ != nullptr) words_->compute(batch_, word_list_);
    }
    return outcome::ready();
  }

  exec::input_stream* in_;
  const record::key_fronts* words_;
  record::batch batch_;
  std::vector<uint64_t> word_list_;
  size_t position_ = 0;
  uint64_t rows_before_ = 0;
  bool ended_ = false;
};

}  // namespace flowrun::operators
