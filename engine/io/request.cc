#include "engine/io/request.h"

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/io/file.h"
#include "engine/io/statistics.h"

namespace flowrun::io {

void request::wait() const {
  // A thread that has to sleep leaves the address of its own waker behind. complete() reads it before it publishes
  // `done`, so that nothing of the request is touched afterwards.
  blocking_waker sleeper;
  sleeper_ = &sleeper;
  state expected = state::in_flight;
  if (state_.compare_exchange_strong(expected, state::awaited, std::memory_order_acq_rel, std::memory_order_acquire)) {
    sleeper.wait();
    return;
  }
  FLOWRUN_CHECK(expected != state::awaited);  // one thread at a time
}

size_t request::take_result() {
  FLOWRUN_CHECK(done());
  const int64_t result = result_;
  state_.store(state::idle, std::memory_order_relaxed);
  if (result >= 0) return static_cast<size_t>(result);
  const int cause = static_cast<int>(-result);
  const bool writing = way == direction::write;
  error_kind kind = error_kind::io;
  std::string hint = "check the disk and the system log (dmesg)";
  if (cause == ENOMEM) {
    kind = error_kind::resources;
    hint = "the system is out of memory: lower the memory budget (-m) or stop other programs";
  } else if (writing && (cause == ENOSPC || cause == EDQUOT)) {
    kind = target->when_full();
    hint = "free space on that disk, or choose a directory on another one";
  } else if (writing && cause == EFBIG) {
    kind = target->when_full();
    hint = "raise the file size limit (ulimit -f), or choose a file system that takes larger files";
  }
  throw error(kind,
              fmt::format("can't {} {} at offset {} of {}: {}", writing ? "write" : "read", format_bytes(num_bytes),
                          offset, target->path(), errno_text(cause)),
              hint);
}

void request::start() {
  FLOWRUN_CHECK(state_.load(std::memory_order_acquire) == state::idle);
  FLOWRUN_CHECK(target != nullptr && num_bytes > 0);
  progress = {};
  next = nullptr;
  started_ns = now_ns();
  if (statistics != nullptr) statistics->begin(way, started_ns);
  state_.store(state::in_flight, std::memory_order_release);
}

void request::complete(int64_t result) noexcept {
  result_ = result;
  if (statistics != nullptr) statistics->end(way, started_ns, now_ns(), result);
  waker* const woken = on_done;
  state expected = state::in_flight;
  if (state_.compare_exchange_strong(expected, state::done, std::memory_order_acq_rel, std::memory_order_acquire)) {
    if (woken != nullptr) woken->wake();
    return;
  }
  blocking_waker* const sleeper = sleeper_;
  state_.store(state::done, std::memory_order_release);
  if (woken != nullptr) woken->wake();
  sleeper->wake();
}

}  // namespace flowrun::io
