// Asynchrony from the kernel: one io_uring, driven by one thread.
//
// Only the ring's own thread submits and reaps. Transfers started by a thread die with that thread (the kernel cancels
// them), and TBB workers and test threads come and go. So submit() appends to a queue and nudges the ring's thread
// through an eventfd, which is itself read through the ring. A nudge is sent only while that thread sleeps. One owner
// also lets the kernel take the cheapest paths (SINGLE_ISSUER, DEFER_TASKRUN; Linux 6.1).
//
// A direct transfer starts in the ring's thread, without blocking, if no other is under way. With more of them, this
// one thread would limit a fast disk, so the others are handed to the kernel's workers (IOSQE_ASYNC). Buffered ones
// would be copied right there, one after the other: workers copy them in parallel.
//
// Invariants: at most `queue_depth` transfers are with the kernel, the rest waits in `queue_`; each of them has a slot
// in the submission queue (it has one more, for the eventfd). No allocation per request.
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"
#include "engine/io/io_thread.h"
#include "engine/io/queueing_backend.h"

namespace flowrun::io {

namespace {

constexpr int max_submit_failures = 1000;
constexpr unsigned most_started_here = 1;  // direct transfers under way

class uring_backend final : public queueing_backend {
 public:
  explicit uring_backend(unsigned queue_depth)
      : queueing_backend(unbounded), queue_depth_(std::clamp(queue_depth, 1U, 4096U)) {
    nudge_ = eventfd(0, EFD_CLOEXEC);
    if (nudge_ < 0) refuse("eventfd", errno);
    // The thread that makes the ring is the one that may use it.
    std::promise<int> ready;
    std::future<int> outcome = ready.get_future();
    try {
      thread_ = start_io_thread("flowrun-uring", [this, &ready] {
        const int failure = open_ring();
        ready.set_value(failure);
        if (failure == 0) run();
      });
    } catch (...) {
      close(nudge_);
      throw;
    }
    if (const int failure = outcome.get(); failure != 0) {
      thread_.join();
      close(nudge_);
      refuse("io_uring_setup", failure);
    }
  }

  ~uring_backend() override {
    {
      mutex_lock lock(mutex_);
      stopping_ = true;
    }
    nudge();
    thread_.join();
    close(nudge_);
  }

  std::string_view name() const override { return "io_uring"; }

 private:
  void issue(request_queue admitted) noexcept override {
    request_queue added;
    while (request* const r = admitted.pop()) {
      if (r->target->is_memory())
        finish(*r, perform(*r), admitted);
      else
        added.push(*r);
    }
    if (added.empty()) return;
    bool asleep = false;
    {
      mutex_lock lock(mutex_);
      queue_.append(added);
      asleep = std::exchange(asleep_, false);
    }
    if (asleep) nudge();
  }

  static constexpr unsigned most_reaped = 64;
  struct ended {
    request* r;
    int64_t result;
  };

  [[noreturn]] static void refuse(const char* call, int cause) {
    throw error(error_kind::io, fmt::format("{}: {}", call, errno_text(cause)),
                "leave the choice of the backend to flowrun (auto), or choose threads");
  }

  // 0 or an errno. Runs in the ring's thread.
  int open_ring() {
    const unsigned num_entries = queue_depth_ + 1;
    unsigned flags = IORING_SETUP_CLAMP;
#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
    flags |= IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
#endif
    int result = io_uring_queue_init(num_entries, &ring_, flags);
    if (result == -EINVAL) result = io_uring_queue_init(num_entries, &ring_, IORING_SETUP_CLAMP);  // an older kernel
    return -result;
  }

  void nudge() const noexcept {
    const uint64_t one = 1;
    while (write(nudge_, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  void run() noexcept {
    int num_failures = 0;
    while (take_queued()) {
      const int result = io_uring_submit_and_wait(&ring_, num_failures == 0 ? 1 : 0);
      if (result >= 0) {
        num_failures = 0;
      } else {
        // A ring that takes nothing for a second takes nothing more: what comes then fails at once.
        const bool hopeless = ++num_failures > max_submit_failures;
        if (hopeless || (result != -EAGAIN && result != -EBUSY && result != -EINTR)) fail_unsubmitted(result);
        // The kernel is short of memory: give it time. The failed call has not brought what ended meanwhile.
        if (result != -EINTR || hopeless) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        io_uring_get_events(&ring_);
      }
      reap();
    }
    io_uring_queue_exit(&ring_);
  }

  // Moves requests from the queue to the ring. False when it is time to stop.
  bool take_queued() {
    mutex_lock lock(mutex_);
    while (in_flight_ < queue_depth_) {
      request* const taken = queue_.pop();
      if (taken == nullptr) break;
      ++in_flight_;
      prepare(*taken);
    }
    if (!nudge_armed_ && !stopping_) arm_nudge();
    // Anything that comes later than this has to wake us.
    asleep_ = queue_.empty();
    return !(stopping_ && queue_.empty() && in_flight_ == 0 && !nudge_armed_);
  }

  // There is always a free entry: each request in flight and the nudge have at most one.
  io_uring_sqe* entry() {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    FLOWRUN_CHECK(sqe != nullptr);
    return sqe;
  }

  void prepare(request& r) {
    io_uring_sqe* const sqe = entry();
    const auto length = static_cast<unsigned>(std::min(r.num_bytes - r.progress.begin, largest_transfer));
    std::byte* const data = r.data + r.progress.begin;
    const uint64_t offset = r.offset + r.progress.begin;
    if (r.way == direction::read)
      io_uring_prep_read(sqe, r.target->descriptor(), data, length, offset);
    else
      io_uring_prep_write(sqe, r.target->descriptor(), data, length, offset);
    if (in_flight_ > most_started_here || !r.target->is_direct()) sqe->flags |= IOSQE_ASYNC;
    io_uring_sqe_set_data(sqe, &r);
  }

  void arm_nudge() {
    io_uring_sqe* const sqe = entry();
    io_uring_prep_read(sqe, nudge_, &nudge_count_, sizeof nudge_count_, 0);
    io_uring_sqe_set_data(sqe, nullptr);
    nudge_armed_ = true;
  }

  void reap() {
    for (;;) {
      io_uring_cqe* cqes[most_reaped];
      const unsigned num_cqes = io_uring_peek_batch_cqe(&ring_, cqes, most_reaped);
      if (num_cqes == 0) return;
      ended over[most_reaped];
      unsigned num_over = 0;
      request_queue admitted;
      for (unsigned i = 0; i < num_cqes; ++i) {
        auto* const r = static_cast<request*>(io_uring_cqe_get_data(cqes[i]));
        if (r == nullptr) {
          nudge_armed_ = false;
        } else if (const auto end = r->progress.advance(cqes[i]->res, r->num_bytes, r->target->is_direct(), r->way)) {
          --in_flight_;
          leave_queue(*r, admitted);
          over[num_over++] = {r, *end};
        } else {
          prepare(*r);
        }
      }
      io_uring_cq_advance(&ring_, num_cqes);
      // Waking takes tens of microseconds: the disks get their next transfers first. (What the kernel refuses now,
      // run() submits again.)
      if (!admitted.empty()) {
        issue(admitted);
        take_queued();
        io_uring_submit(&ring_);
      }
      const uint64_t now = time().now();
      for (const ended& one : std::span(over, num_over)) one.r->complete(one.result, now);
    }
  }

  // The kernel won't take what lies in the submission queue: takes it back and fails it, so that no thread waits for
  // ever.
  void fail_unsubmitted(int result) {
    io_uring_sq& sq = ring_.sq;
    const unsigned first = *sq.khead;
    const unsigned end = sq.sqe_tail;
    sq.sqe_head = sq.sqe_tail = first;
    io_uring_smp_store_release(sq.ktail, first);
    for (unsigned i = first; i != end; ++i) {
      auto* const r = reinterpret_cast<request*>(static_cast<uintptr_t>(sq.sqes[i & *sq.kring_mask].user_data));
      if (r == nullptr) {
        nudge_armed_ = false;
        continue;
      }
      --in_flight_;
      finish(*r, result);
    }
  }

  const unsigned queue_depth_;
  int nudge_ = -1;

  mutex mutex_;
  request_queue queue_ FLOWRUN_GUARDED_BY(mutex_);
  bool asleep_ FLOWRUN_GUARDED_BY(mutex_) = false;  // the ring's thread sleeps, or is about to: nudge it
  bool stopping_ FLOWRUN_GUARDED_BY(mutex_) = false;

  // Only the ring's thread.
  io_uring ring_{};
  unsigned in_flight_ = 0;
  uint64_t nudge_count_ = 0;  // written by the kernel while armed: the ring is not closed before that is over
  bool nudge_armed_ = false;

  std::thread thread_;
};

}  // namespace

std::unique_ptr<backend> make_uring_backend(unsigned queue_depth) {
  return std::make_unique<uring_backend>(queue_depth);
}

}  // namespace flowrun::io
