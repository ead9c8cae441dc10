// Time that moves only when it is told to: a discrete-event clock (Asynchronous sorting, figures 9-14, are drawn with
// it).
//
//   schedule(5, a), schedule(3, b), schedule(5, c)      advance(4): now 3, b fires; now 4
//                                                       run_until_idle(): now 5, a fires, then c
//
// Events fire in the order of their times, those of one time in the order in which they were scheduled, so a run is a
// function of its input. An event may schedule others, also for now. While it fires, now() is its time.
//
// Thread safety: now() and schedule() from any thread; only one thread at a time moves the time. Cost: a heap operation
// per event.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace flowrun::io {

class event_clock final : public time_source {
 public:
  using event = std::function<void()>;

  event_clock() = default;
  event_clock(const event_clock&) = delete;
  event_clock& operator=(const event_clock&) = delete;

  uint64_t now() const noexcept override { return now_.load(std::memory_order_relaxed); }
  // `what` fires at `when`, or now if that has passed (then as soon as the time is moved at all).
  void schedule(uint64_t when, event what);

  // Fires what is due up to now + ns, each at its time, and ends there.
  void advance(uint64_t ns) { run_until(now() + ns); }
  // The same up to the time `end`; time never goes back.
  void run_until(uint64_t end);
  // Moves to the next event and fires it; false when there is none.
  bool run_next();
  // Until no event is left. Returns the time then.
  uint64_t run_until_idle();

  std::optional<uint64_t> next_event() const;
  size_t num_events() const;

 private:
  struct entry {
    uint64_t when;
    uint64_t number;  // of scheduling
    event what;
    // For a heap with the earliest on top.
    bool operator<(const entry& other) const { return when != other.when ? when > other.when : number > other.number; }
  };
  // Takes the earliest event if it is due by `end`.
  std::optional<event> take_due(uint64_t end);

  std::atomic<uint64_t> now_{0};
  mutable mutex mutex_;
  std::vector<entry> events_ FLOWRUN_GUARDED_BY(mutex_);  // a heap
  uint64_t num_scheduled_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::io
