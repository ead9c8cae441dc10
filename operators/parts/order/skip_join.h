// What a join that skips runs on: the left rows as they are pushed through a pipeline, and the stored right rows, read
// where the left keys are (STXXL, section 10: breadth-first search reads the blocks of its frontier only).
#pragma once

#include <memory>
#include <utility>

#include "engine/container/external_vector.h"
#include "engine/exec/operator.h"
#include "engine/record/key.h"

namespace flowrun::operators {

// An input stream that can leave rows out.
class skipping_stream : public exec::input_stream {
 public:
  // The next peek() gives rows from the first row, behind what was popped, whose key is not less than that of `row`.
  // `order` compares `row`, its left side, with the rows of the stream. All three arguments must stay as they are until
  // peek() answers ready or done; a new seek() before that replaces this one. Blocks in between are not read.
  virtual void seek(const record::row_comparator& order, const std::byte* row, const std::byte* heap) = 0;
};

// The rows of a vector that is indexed by the key that will be sought. Blocks take up to `memory_bytes`.
std::unique_ptr<skipping_stream> make_skipping_stream(std::shared_ptr<const container::external_vector> rows,
                                                      uint64_t memory_bytes, size_t batch_bytes);

// The batches that are pushed into a stage, as the stream that a source pulls.
class pushed_stream final : public exec::input_stream {
 public:
  void put(record::batch b) { batch_ = std::move(b); }
  void close() { closed_ = true; }

  // blocked: no batch was pushed. The waker is not kept, since the next push goes on with the work.
  outcome peek(const record::batch*& front, waker&) override {
    if (batch_.num_rows > 0) {
      front = &batch_;
      return outcome::ready();
    }
    if (closed_) return outcome::done();
    starved_ = true;
    return outcome::blocked(blocked_on::input);
  }
  void pop() override { batch_ = {}; }
  // Whether peek() was blocked since this was last asked.
  bool take_starved() { return std::exchange(starved_, false); }

 private:
  record::batch batch_;
  bool closed_ = false, starved_ = false;
};

// Runs `work`, which reads its left rows from `left`, as a stage that is pushed these rows. `work` must take all of
// `left` and ends with it; `left` and what else it reads are owned by `parts`.
std::unique_ptr<exec::ordered_stage> make_pushed_stage(std::unique_ptr<exec::source> work, pushed_stream& left,
                                                       std::shared_ptr<void> parts);

}  // namespace flowrun::operators
