#include "engine/container/block_pool_reader.h"

#include <vector>

#include "engine/base/mutex.h"
#include "engine/block/fetch_check.h"
#include "engine/io/transfer_pool.h"

namespace flowrun::container {

class block_pool_reader::core final : public io::transfer_pool {
 public:
  core(block::block_manager& manager, uint32_t block_bytes, unsigned num_buffers)
      : transfer_pool(manager.backend(), num_buffers, block_bytes), manager_(manager), wanted_(num_buffers) {
    begun_.reserve(num_buffers);
  }

  size_t free_buffers() const {
    mutex_lock lock(mutex_);
    return num_free();
  }

  uint32_t take(const block::fetch& what) {
    mutex_lock lock(mutex_);
    slot& one = *take_free();
    wanted_[one.number] = what;
    manager_.prepare(one.transfer, what.id, io::direction::read, one.memory);
    begun_.push_back(&one);
    return one.number;
  }

  void submit() {
    mutex_lock lock(mutex_);
    transfer_on();
  }

  outcome ready(uint32_t buffer, waker* w) {
    slot& one = slots()[buffer];
    {
      mutex_lock lock(mutex_);
      if (one.now == state::held) return outcome::ready();
      if (one.now != state::done) {
        if (w == nullptr) return outcome::blocked();
        if (awaited_ != &one) forget_wait();
        awaited_ = &one;
        block(w);
        return outcome::blocked();
      }
    }
    block::check_fetched(manager_, wanted_[buffer], one.transfer, one.memory);
    mutex_lock lock(mutex_);
    one.now = state::held;
    return outcome::ready();
  }

  const std::byte* memory(uint32_t buffer) { return slots()[buffer].memory; }
  void release(uint32_t buffer) { give_back(slots()[buffer]); }

 private:
  void choose(batch& to, bool) override FLOWRUN_REQUIRES(mutex_) {
    for (; num_submitted_ < begun_.size() && !to.full(); ++num_submitted_) begin(to, *begun_[num_submitted_], 0);
    if (num_submitted_ < begun_.size()) return;
    begun_.clear();
    num_submitted_ = 0;
  }
  bool arrived(slot& one) noexcept override FLOWRUN_REQUIRES(mutex_) {
    if (awaited_ != &one) return false;
    awaited_ = nullptr;
    return true;
  }

  block::block_manager& manager_;
  std::vector<block::fetch> wanted_;  // by buffer
  std::vector<slot*> begun_ FLOWRUN_GUARDED_BY(mutex_);
  size_t num_submitted_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // of these
  const slot* awaited_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
};

block_pool_reader::block_pool_reader(block::block_manager& manager, uint32_t block_bytes, unsigned num_buffers)
    : core_(std::make_shared<core>(manager, block_bytes, num_buffers)) {}
block_pool_reader::~block_pool_reader() { core_->close(); }

size_t block_pool_reader::num_free() const { return core_->free_buffers(); }
uint32_t block_pool_reader::begin(const block::fetch& what) { return core_->take(what); }
void block_pool_reader::submit() { core_->submit(); }
outcome block_pool_reader::ready(uint32_t buffer, waker* w) { return core_->ready(buffer, w); }
const std::byte* block_pool_reader::payload(uint32_t buffer) const { return block::payload_of(core_->memory(buffer)); }
void block_pool_reader::release(uint32_t buffer) { core_->release(buffer); }

}  // namespace flowrun::container
