// What the real backends share: requests wait in the queues of their disks (disk_queue.h) until it is their turn.
//
// A backend only carries out what is admitted: issue() starts transfers, finish() tells that one is over and issues
// those that were waiting for it.
#pragma once

#include "engine/io/disk_queue.h"
#include "engine/io/request.h"
#include "engine/io/request_queue.h"

namespace flowrun::io {

class queueing_backend : public backend {
 public:
  using backend::submit;
  void submit(std::span<request* const> requests) noexcept final;
  bool cancel(request& waiting) noexcept final;

 protected:
  static constexpr unsigned unbounded = disk_queue::unbounded;
  // `depth` of the queue for requests that name no disk.
  explicit queueing_backend(unsigned depth) : own_queue_(depth) {}

  // Starts the transfers of all of `admitted`, without waiting for them. From any thread.
  virtual void issue(request_queue admitted) noexcept = 0;
  // The transfer is over: bytes moved or a negative errno. `r` is not touched afterwards. Those that may follow it are
  // issued, or appended to `admitted` (for an issue() that carries out what it is given at once).
  void finish(request& r, int64_t result) noexcept;
  void finish(request& r, int64_t result, request_queue& admitted) noexcept;
  // The first half of finish(), for a backend that starts the next transfers before any waker is woken: takes `r` out
  // of its queue. r.complete() must follow, before the end of any transfer that started later.
  void leave_queue(request& r, request_queue& admitted) noexcept { queue_of(r).leave(r, admitted); }

 private:
  disk_queue& queue_of(const request& r) { return r.disk != nullptr ? *r.disk : own_queue_; }

  disk_queue own_queue_;
};

}  // namespace flowrun::io
