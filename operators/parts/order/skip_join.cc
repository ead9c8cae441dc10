#include "operators/parts/order/skip_join.h"

namespace flowrun::operators {

namespace {

class vector_stream final : public skipping_stream {
 public:
  vector_stream(std::shared_ptr<const container::external_vector> rows, uint64_t memory_bytes, size_t batch_bytes)
      : rows_(std::move(rows)),
        reader_(rows_->read(memory_bytes, container::external_vector::direction::forward, batch_bytes)) {}

  outcome peek(const record::batch*& front, waker& w) override { return reader_->front(front, w); }
  void pop() override { reader_->pop(); }
  void seek(const record::row_comparator& order, const std::byte* row, const std::byte* heap) override {
    reader_->seek(order, row, heap);
  }

 private:
  std::shared_ptr<const container::external_vector> rows_;
  std::unique_ptr<container::external_vector::reader> reader_;
};

class pushed_stage final : public exec::ordered_stage {
 public:
  pushed_stage(std::unique_ptr<exec::source> work, pushed_stream& left, std::shared_ptr<void> parts)
      : parts_(std::move(parts)), left_(left), work_(std::move(work)) {}

  outcome push(record::batch& in, exec::output& out, waker& w) override {
    if (!has_input_) left_.put(in);
    has_input_ = true;
    const outcome o = work_->pull(out, w);
    // The rows it has made are passed on before it makes more.
    if (o.is_ready()) {
      w.wake();
      return outcome::blocked(blocked_on::output);
    }
    if (o.is_blocked() && !left_.take_starved()) return o;
    has_input_ = false;
    return outcome::ready();
  }

  outcome finish(exec::output& out, waker& w) override {
    left_.close();
    return work_->pull(out, w);
  }

 private:
  std::shared_ptr<void> parts_;
  pushed_stream& left_;
  std::unique_ptr<exec::source> work_;
  bool has_input_ = false;  // `left_` was given the batch that is being pushed
};

}  // namespace

std::unique_ptr<skipping_stream> make_skipping_stream(std::shared_ptr<const container::external_vector> rows,
                                                      uint64_t memory_bytes, size_t batch_bytes) {
  return std::make_unique<vector_stream>(std::move(rows), memory_bytes, batch_bytes);
}

std::unique_ptr<exec::ordered_stage> make_pushed_stage(std::unique_ptr<exec::source> work, pushed_stream& left,
                                                       std::shared_ptr<void> parts) {
  return std::make_unique<pushed_stage>(std::move(work), left, std::move(parts));
}

}  // namespace flowrun::operators
