// One asynchronous transfer and the backends that carry it out (STXXL, section 3: the AIO layer).
//
// A request belongs to the code that needs the transfer, usually as a member of a block buffer, so that the hot path
// allocates nothing. It must stay where it is until done(). An error waits in the request and is rethrown to its owner,
// by take_result().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/outcome.h"
#include "engine/base/waker.h"
#include "engine/io/transfer.h"

namespace flowrun::io {

class disk_queue;
class disk_statistics;
class file;

// Life: idle -> (backend::submit) in flight -> done -> (take_result) idle. Only the owner, one thread at a time, calls
// everything but start() and complete().
//
// What may be destroyed when: once done() is true or wait() has returned, the backend touches the request no more, so
// its owner may destroy or reuse it. The waker is another matter: it is called after that, so it must live until its
// wake has come (wait for the wake itself, or let the waker live as long as the backend). A wait() that had to sleep
// returns after the wake.
class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  // What to transfer; set while idle. `num_bytes` > 0. Reads past the end of the file are short, not errors.
  file* target = nullptr;
  direction way = direction::read;
  uint64_t offset = 0;
  std::byte* data = nullptr;
  size_t num_bytes = 0;
  // Where it waits for its turn, and which depth and order hold there; null: the backend's own queue. Must outlive the
  // transfer.
  disk_queue* disk = nullptr;
  // Counts operations, bytes and times of this transfer; may be null. Must outlive the transfer.
  disk_statistics* statistics = nullptr;
  // Woken once (from an I/O thread, or inside submit()) after the request became done; may be null.
  waker* on_done = nullptr;

  bool in_flight() const {
    const uintptr_t now = state_.load(std::memory_order_acquire);
    return now != idle_state && now != done_state;
  }
  bool done() const { return state_.load(std::memory_order_acquire) == done_state; }
  // Blocks the calling thread until done; never from a TBB worker. Returns at once when idle.
  void wait() const;
  // After done(), before take_result(): the errno with which it failed, 0 when it didn't: for those who can do
  // something about some failures.
  int cause() const;
  // After done(): bytes moved; throws error(io) (or error(target->when_full()) for ENOSPC / EDQUOT / EFBIG on writes)
  // with path, offset, length and cause; error(cancelled) after backend::cancel. Makes the request idle again.
  size_t take_result();

  // For backends: marks in flight (a request that isn't idle is our bug), and reports the end: bytes moved, or a
  // negative errno. `now` is the backend's time.
  void start(uint64_t now);
  void complete(int64_t result, uint64_t now) noexcept;

  // For backends, between start() and complete(): how far the transfer has come, and the links of the queue it waits
  // in.
  transfer_progress progress;
  request* next = nullptr;
  request* previous = nullptr;
  uint64_t started_ns = 0;

 private:
  // One of these, or the address of the waker of a thread that sleeps until the transfer in flight is over: in one
  // word, so that the thread that ends the transfer and the one that stops waiting for it never disagree about whether
  // there will be a wake.
  static constexpr uintptr_t idle_state = 0;
  static constexpr uintptr_t in_flight_state = 1;
  static constexpr uintptr_t done_state = 2;
  friend size_t wait_any(std::span<request* const> requests);
  outcome await(waker& sleeper) const;
  bool await_no_more(waker& sleeper) const;

  mutable std::atomic<uintptr_t> state_{idle_state};
  int64_t result_ = 0;
};

// Blocks until all of them are done (idle ones count as done); never from a TBB worker.
void wait_all(std::span<request* const> requests);
// Blocks until one of them is done, and returns its index: the first one in the list. At least one must be in flight or
// done; idle ones are passed over.
size_t wait_any(std::span<request* const> requests);
// The index of the first one that is done; never blocks.
std::optional<size_t> poll_any(std::span<request* const> requests);

// Carries requests out. submit() never waits for the transfer. All requests must be done before the backend dies.
class backend {
 public:
  virtual ~backend() = default;
  // From any thread. Takes all of them in one go where the system can. Throws nothing: failures end up in the requests.
  virtual void submit(std::span<request* const> requests) noexcept = 0;
  void submit(request& one) noexcept {
    request* list[] = {&one};
    submit(list);
  }
  // Takes back a request that was submitted and still waits for its turn: it ends at once, with ECANCELED (and its
  // waker is woken). False when it is too late: then it ends as if cancel() had not been called.
  virtual bool cancel(request&) noexcept { return false; }
  // The time in which transfers take place.
  virtual const time_source& time() const { return steady_time(); }
  // "io_uring", "threads", "mmap", "memory": for the report and for messages.
  virtual std::string_view name() const = 0;
};

enum class backend_kind { automatic, io_uring, threads, mmap, memory };

// automatic: io_uring when a probe (a ring and a real read) works here, else threads. io_uring: error(io) naming the
// cause when it doesn't work. mmap: copies between mapped pages and memory, on threads, always through the page cache.
// It is for file systems that serve mappings better than transfers (STXXL, section 3, lists it). memory: transfers at
// once, for files in memory and ordinary files alike, on the caller's thread. Each backend takes both kinds of files; a
// file in memory is always served at once. `queue_depth` bounds transfers in flight at the system; more are queued
// inside.
std::unique_ptr<backend> make_backend(backend_kind kind, unsigned queue_depth = 64);

// Why io_uring can't be used here ("forbidden by sysctl", "Operation not permitted", …); empty when it can.
std::string io_uring_refusal();

}  // namespace flowrun::io
