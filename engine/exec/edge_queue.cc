#include "engine/exec/edge_queue.h"

#include <deque>
#include <utility>

#include "engine/base/mutex.h"

namespace flowrun::exec {

namespace {

class bounded_queue final : public edge_queue {
 public:
  bounded_queue(size_t max_batches, uint64_t max_bytes) : max_batches_(max_batches), max_bytes_(max_bytes) {}

  outcome push(record::batch& b, waker& w) override {
    mutex_lock lock(mutex_);
    if (batches_.size() >= max_batches_ || (!batches_.empty() && num_bytes_ >= max_bytes_)) {
      producer_ = &w;
      return outcome::blocked(blocked_on::output);
    }
    num_bytes_ += b.num_bytes();
    batches_.push_back(std::move(b));
    wake(consumer_);
    return outcome::ready();
  }

  outcome close(waker&) override {
    mutex_lock lock(mutex_);
    closed_ = true;
    wake(consumer_);
    return outcome::done();
  }

  outcome peek(const record::batch*& front, waker& w) override {
    mutex_lock lock(mutex_);
    if (!batches_.empty()) {
      front = &batches_.front();  // stays where it is: a deque doesn't move its elements when others are added
      return outcome::ready();
    }
    if (closed_) return outcome::done();
    consumer_ = &w;
    return outcome::blocked(blocked_on::input);
  }

  void forget_wakers() override {
    mutex_lock lock(mutex_);
    producer_ = consumer_ = nullptr;
  }

  void pop() override {
    record::batch last;  // dies outside the lock
    mutex_lock lock(mutex_);
    last = std::move(batches_.front());
    num_bytes_ -= last.num_bytes();
    batches_.pop_front();
    wake(producer_);
  }

 private:
  static void wake(waker*& sleeper) {
    if (sleeper != nullptr) std::exchange(sleeper, nullptr)->wake();
  }

  const size_t max_batches_;
  const uint64_t max_bytes_;
  mutex mutex_;
  std::deque<record::batch> batches_ FLOWRUN_GUARDED_BY(mutex_);
  uint64_t num_bytes_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  bool closed_ FLOWRUN_GUARDED_BY(mutex_) = false;
  waker* producer_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  waker* consumer_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

class queue_sink final : public ordered_stage {
 public:
  explicit queue_sink(edge_queue& queue) : queue_(queue) {}
  outcome push(record::batch& in, output&, waker& w) override { return queue_.push(in, w); }
  outcome finish(output&, waker& w) override { return queue_.close(w); }

 private:
  edge_queue& queue_;
};

class queue_source final : public source {
 public:
  explicit queue_source(input_stream& queue) : queue_(queue) {}
  outcome pull(output& out, waker& w) override {
    const record::batch* front = nullptr;
    const outcome result = queue_.peek(front, w);
    if (!result.is_ready()) return result;
    out.emit(*front);
    queue_.pop();
    return result;
  }

 private:
  input_stream& queue_;
};

}  // namespace

std::unique_ptr<source> make_queue_source(input_stream& queue) { return std::make_unique<queue_source>(queue); }

std::unique_ptr<edge_queue> make_bounded_queue(size_t max_batches, uint64_t max_bytes) {
  return std::make_unique<bounded_queue>(max_batches, max_bytes);
}
std::unique_ptr<ordered_stage> make_queue_sink(edge_queue& queue) { return std::make_unique<queue_sink>(queue); }

}  // namespace flowrun::exec
