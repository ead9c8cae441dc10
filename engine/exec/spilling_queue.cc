// The unbounded edge queue: container::external_queue behind the interface of an edge.

#include "engine/container/external_queue.h"
#include "engine/exec/edge_queue.h"

namespace flowrun::exec {

namespace {

class spilling_queue final : public edge_queue {
 public:
  spilling_queue(const record::row_type& type, services& job, uint64_t memory_bytes, uint64_t kept_bytes)
      : queue_(type, job.blocks(), job.options().force_spill ? 0 : memory_bytes, kept_bytes),
        settles_(kept_bytes < memory_bytes) {}

  outcome push(record::batch& b, waker& w) override { return queue_.push(b, w); }
  outcome close(waker& w) override {
    queue_.close();
    return settles_ ? queue_.settle(w) : outcome::done();
  }
  outcome peek(const record::batch*& front, waker& w) override { return queue_.front(front, w); }
  void pop() override { queue_.pop(); }
  void forget_wakers() override { queue_.forget_wakers(); }

 private:
  container::external_queue queue_;
  const bool settles_;
};

}  // namespace

std::unique_ptr<edge_queue> make_spilling_queue(const record::row_type& type, services& job, uint64_t memory_bytes,
                                                uint64_t kept_bytes) {
  return std::make_unique<spilling_queue>(type, job, memory_bytes, kept_bytes);
}

}  // namespace flowrun::exec
