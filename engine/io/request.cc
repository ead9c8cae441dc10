#include "engine/io/request.h"

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/base/units.h"
#include "engine/io/file.h"
#include "engine/io/statistics.h"

namespace flowrun::io {

void request::wait() const {
  blocking_waker sleeper;
  if (await(sleeper).is_blocked()) sleeper.wait();
}

// A thread that has to sleep leaves the address of its own waker behind. complete() takes it as it publishes `done`, so
// that nothing of the request is touched afterwards. ready: nothing is in flight (any more).
outcome request::await(waker& sleeper) const {
  uintptr_t expected = in_flight_state;
  if (state_.compare_exchange_strong(expected, reinterpret_cast<uintptr_t>(&sleeper), std::memory_order_acq_rel,
                                     std::memory_order_acquire))
    return outcome::blocked();
  FLOWRUN_CHECK(expected == idle_state || expected == done_state);  // one thread at a time
  return outcome::ready();
}

// False: too late, the sleeper has been or will be woken.
bool request::await_no_more(waker& sleeper) const {
  auto expected = reinterpret_cast<uintptr_t>(&sleeper);
  return state_.compare_exchange_strong(expected, in_flight_state, std::memory_order_acq_rel,
                                        std::memory_order_acquire);
}

int request::cause() const {
  FLOWRUN_CHECK(done());
  return result_ < 0 ? static_cast<int>(-result_) : 0;
}

size_t request::take_result() {
  FLOWRUN_CHECK(done());
  const int64_t result = result_;
  state_.store(idle_state, std::memory_order_relaxed);
  if (result >= 0) return static_cast<size_t>(result);
  const int cause = static_cast<int>(-result);
  const bool writing = way == direction::write;
  if (cause == ECANCELED)
    throw error(error_kind::cancelled,
                fmt::format("{} {} at offset {} of {} was cancelled before it began", writing ? "writing" : "reading",
                            format_bytes(num_bytes), offset, target->path()));
  error_kind kind = error_kind::io;
  std::string hint = "check the disk and the system log (dmesg)";
  if (cause == ENOMEM) {
    kind = error_kind::resources;
    hint = "the system is out of memory: lower the memory budget (-m) or stop other programs";
  } else if (writing && means_no_room(cause)) {
    kind = target->when_full();
    hint = cause == EFBIG ? "raise the file size limit (ulimit -f), or choose a file system that takes larger files"
                          : "free space on that disk, or choose a directory on another one";
  }
  throw error(kind,
              fmt::format("can't {} {} at offset {} of {}: {}", writing ? "write" : "read", format_bytes(num_bytes),
                          offset, target->path(), errno_text(cause)),
              hint);
}

void request::start(uint64_t now) {
  FLOWRUN_CHECK(state_.load(std::memory_order_acquire) == idle_state);
  FLOWRUN_CHECK(target != nullptr && num_bytes > 0);
  progress = {};
  next = previous = nullptr;
  started_ns = now;
  if (statistics != nullptr) statistics->begin(way, started_ns);
  state_.store(in_flight_state, std::memory_order_release);
}

void request::complete(int64_t result, uint64_t now) noexcept {
  result_ = result;
  if (statistics != nullptr) statistics->end(way, started_ns, now, result);
  waker* const woken = on_done;
  const uintptr_t before = state_.exchange(done_state, std::memory_order_acq_rel);
  if (woken != nullptr) woken->wake();
  if (before != in_flight_state) reinterpret_cast<waker*>(before)->wake();
}

void wait_all(std::span<request* const> requests) {
  for (const request* r : requests) r->wait();
}

std::optional<size_t> poll_any(std::span<request* const> requests) {
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i]->done()) return i;
  return std::nullopt;
}

size_t wait_any(std::span<request* const> requests) {
  // Counts its wakes, because it may live only as long as this call. A request that ends before it is told not to wake
  // has woken it, or is about to.
  struct counting_waker final : waker {
    void wake() noexcept override {
      mutex_lock lock(mutex);
      ++num_wakes;
      changed.notify_one();
    }
    void wait_for(size_t wanted) {
      mutex_lock lock(mutex);
      changed.wait(lock, [&]() FLOWRUN_REQUIRES(mutex) { return num_wakes >= wanted; });
    }
    flowrun::mutex mutex;
    condition changed;
    size_t num_wakes FLOWRUN_GUARDED_BY(mutex) = 0;
  } sleeper;
  if (const auto ready = poll_any(requests)) return *ready;
  size_t num_asked = 0;  // idle ones among them
  bool sleeps = false;
  bool too_late = false;
  for (const request* r : requests) {
    if (r->await(sleeper).is_blocked()) {
      sleeps = true;
    } else if (r->done()) {
      too_late = true;  // meanwhile
      break;
    }
    ++num_asked;
  }
  FLOWRUN_CHECK(sleeps || too_late);
  if (!too_late) sleeper.wait_for(1);
  size_t num_late = 0;
  for (const request* r : requests.first(num_asked))
    if (!r->await_no_more(sleeper) && r->done()) ++num_late;
  sleeper.wait_for(num_late);
  const auto ready = poll_any(requests);
  FLOWRUN_CHECK(ready.has_value());
  return *ready;
}

}  // namespace flowrun::io
