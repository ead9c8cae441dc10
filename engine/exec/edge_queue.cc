#include "engine/exec/edge_queue.h"

#include <deque>
#include <utility>
#include <vector>

#include "engine/base/mutex.h"

namespace flowrun::exec {

namespace {

class bounded_queue;

// Queues between the same two pipelines.
struct queues_in_step {
  flowrun::mutex mutex;
  std::vector<bounded_queue*> all FLOWRUN_GUARDED_BY(mutex);
};

class bounded_queue final : public edge_queue {
 public:
  bounded_queue(size_t max_batches, uint64_t max_bytes, bounded_queue* in_step_with)
      : max_batches_(max_batches),
        max_bytes_(max_bytes),
        group_(in_step_with != nullptr ? in_step_with->group_ : std::make_shared<queues_in_step>()),
        mutex_(group_->mutex) {
    mutex_lock lock(group_->mutex);
    group_->all.push_back(this);
  }
  ~bounded_queue() override {
    mutex_lock lock(group_->mutex);
    std::erase(group_->all, this);
  }

  outcome push(record::batch& b, waker& w) override {
    mutex_lock lock(mutex_);
    const bool is_full = batches_.size() >= max_batches_ || (!batches_.empty() && num_bytes_ >= max_bytes_);
    if (is_full && !one_is_empty()) {
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
    if (batches_.empty()) wake_all();
  }

 private:
  static void wake(waker*& sleeper) {
    if (sleeper != nullptr) std::exchange(sleeper, nullptr)->wake();
  }

  // Not analysed: the analysis doesn't know that the queues of a group have one mutex.
  bool one_is_empty() const FLOWRUN_REQUIRES(mutex_) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS {
    for (const bounded_queue* q : group_->all)
      if (q->batches_.empty() && !q->closed_) return true;
    return false;
  }
  void wake_all() FLOWRUN_REQUIRES(mutex_) FLOWRUN_NO_THREAD_SAFETY_ANALYSIS {
    for (bounded_queue* q : group_->all) wake(q->producer_);
  }

  const size_t max_batches_;
  const uint64_t max_bytes_;
  const std::shared_ptr<queues_in_step> group_;
  mutex& mutex_;
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

std::unique_ptr<edge_queue> make_bounded_queue(size_t max_batches, uint64_t max_bytes, edge_queue* in_step_with) {
  return std::make_unique<bounded_queue>(max_batches, max_bytes, static_cast<bounded_queue*>(in_step_with));
}
std::unique_ptr<ordered_stage> make_queue_sink(edge_queue& queue) { return std::make_unique<queue_sink>(queue); }

}  // namespace flowrun::exec
