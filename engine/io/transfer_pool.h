// A pool of buffers that transfers fill or empty: what all readers ahead and writers behind have in common.
//
//   free ──take_free, begin──▶ in flight ──▶ done ──lend──▶ held ──▶ free
//
// What to transfer next is decided by a policy, which derives from this. There are five: block/block_prefetcher.cc
// reads as a schedule says, read_window.h on from where its consumer is, and container/block_pool_reader.cc what it is
// told to. stream_chunks.cc takes what a pipe or a decoder gives, and block/buffered_writer.cc writes behind.
//
// Transfers are chosen under the lock and submitted without it, several at a time: a backend may end them before
// submit() returns, on the same thread. Nothing is allocated per transfer: a request, and the control block of the
// shared_ptr that a consumer holds a buffer by, lie in the buffer's slot. All buffers are one piece of memory, so that
// it gets huge pages: with them direct reads of 1 MiB are half as fast again.
//
// The time from an answer `blocked` until what was waited for is there counts as wait of its disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/mutex.h"
#include "engine/base/waker.h"
#include "engine/io/request.h"

namespace flowrun::io {

// Shared by its owner and the buffers that are lent. The owner calls close() before it lets go.
class transfer_pool : public std::enable_shared_from_this<transfer_pool> {
 public:
  virtual ~transfer_pool() = default;
  transfer_pool(const transfer_pool&) = delete;
  transfer_pool& operator=(const transfer_pool&) = delete;

  // Waits for the transfers in flight. From then on nothing is begun, and no waker is woken. Buffers that are lent live
  // on; the memory of the others goes back.
  void close();

 protected:
  enum class state : uint8_t { free, in_flight, done, held };

  struct slot final : waker {
    transfer_pool* owner = nullptr;
    std::byte* memory = nullptr;
    request transfer;
    state now = state::free;
    uint32_t number = 0;    // of this slot
    uint64_t position = 0;  // what it holds, in the policy's terms
    alignas(std::max_align_t) std::array<std::byte, 128> lease;

    // From an I/O thread, or from within submit().
    void wake() noexcept override { owner->ended(*this); }
  };

  // Transfers to be submitted together.
  class batch {
   public:
    bool empty() const { return size_ == 0; }
    bool full() const { return size_ == list_.size(); }
    void add(request& r) { list_[size_++] = &r; }
    std::span<request* const> list() const { return {list_.data(), size_}; }

   private:
    std::array<request*, 64> list_;
    size_t size_ = 0;
  };

  // `io` outlives the pool, but for buffers that are lent.
  transfer_pool(backend& io, size_t num_slots, size_t slot_bytes);

  // --- the policy, under the lock ---

  // Takes free buffers, sets their requests and begins them in `to`, as long as that is worth while and `to` isn't
  // full. `goes_on`: the batch before was full.
  virtual void choose(batch& to, bool goes_on) FLOWRUN_REQUIRES(mutex_) = 0;
  // A transfer has ended. True when the owner, should it wait, can go on.
  virtual bool arrived(slot& one) noexcept FLOWRUN_REQUIRES(mutex_) = 0;
  // A lent buffer is free again. True when something may be begun now.
  virtual bool came_back() noexcept FLOWRUN_REQUIRES(mutex_) { return false; }

  // --- for the policy, under the lock ---

  // Null when there is none.
  slot* take_free() FLOWRUN_REQUIRES(mutex_);
  // Of a slot that was taken and whose request is set.
  void begin(batch& in, slot& one, uint64_t position) FLOWRUN_REQUIRES(mutex_);
  // Gives up what a slot was to hold or holds.
  void drop(slot& one) noexcept FLOWRUN_REQUIRES(mutex_);
  // Whose position comes last among those that are done; null when there is none.
  slot* latest_done() FLOWRUN_REQUIRES(mutex_);
  // Begins what choose() chooses; false when that is nothing. Opens the lock meanwhile.
  bool transfer_on() FLOWRUN_REQUIRES(mutex_);
  // The owner is told `blocked`, or that it can go on.
  void block(waker* w) FLOWRUN_REQUIRES(mutex_);
  void unblock() FLOWRUN_REQUIRES(mutex_) { waiter_ = nullptr; }
  void forget_wait() FLOWRUN_REQUIRES(mutex_) {
    waiter_ = nullptr;
    blocked_since_ = 0;
  }
  void wake() noexcept FLOWRUN_REQUIRES(mutex_);

  // --- without the lock ---

  // The buffer of a slot that is held: free again when the last owner lets go, on any thread.
  std::shared_ptr<const void> lend(slot& one);
  // At once.
  void give_back(slot& one) noexcept;

  std::span<slot> slots() { return slots_; }
  slot& slot_at(const std::byte* memory);
  size_t num_free() const FLOWRUN_REQUIRES(mutex_) { return free_.size(); }
  size_t num_in_flight() const FLOWRUN_REQUIRES(mutex_) { return num_in_flight_; }
  bool is_closed() const FLOWRUN_REQUIRES(mutex_) { return closed_; }
  backend& io() { return io_; }

  mutable mutex mutex_;  // guards the slots but for the content of done and held ones, what is below, and what
                         // the policy says

 private:
  template <class T>
  struct lease_allocator;
  void ended(slot& one) noexcept;

  backend& io_;
  const size_t slot_bytes_;
  aligned_buffer arena_;
  std::vector<slot> slots_;
  std::vector<slot*> free_ FLOWRUN_GUARDED_BY(mutex_);
  condition quiet_;
  size_t num_in_flight_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  size_t num_submitting_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // threads inside submit()
  bool closed_ FLOWRUN_GUARDED_BY(mutex_) = false;
  waker* waiter_ FLOWRUN_GUARDED_BY(mutex_) = nullptr;
  uint64_t blocked_since_ FLOWRUN_GUARDED_BY(mutex_) = 0;  // 0: the owner doesn't wait
};

}  // namespace flowrun::io
