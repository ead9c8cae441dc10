// The one answer of everything that may have to wait: a disk layer, a sort, a queue, an operator.
//
// A function that takes a waker (waker.h) and answers with an outcome keeps this contract: it looks at the state and
// leaves the waker behind under one lock. So the wake can't be lost: a thread that changes the state afterwards finds
// the waker. An answer `blocked` of a layer below is handed on as it is: it says what is waited for.
//
//   if (const outcome o = writer.flush(&w); o.is_blocked()) return o;
#pragma once

#include <cstdint>

namespace flowrun {

enum class blocked_on : uint8_t {
  io,      // a transfer, or work in the background that a transfer waits for
  memory,  // a buffer that others hold
  input,   // rows that others have yet to make
  output,  // room for rows that others have yet to take
};

class [[nodiscard]] outcome {
 public:
  constexpr outcome() = default;  // ready
  // It happened; call again for more.
  static constexpr outcome ready() { return {kind::ready, blocked_on::io}; }
  // Not now: the waker that was handed in is woken when it is worth another try. It must live until then, until the
  // next call, or until what it was handed to has died.
  static constexpr outcome blocked(blocked_on why = blocked_on::io) { return {kind::blocked, why}; }
  // Nothing is left to do.
  static constexpr outcome done() { return {kind::done, blocked_on::io}; }

  constexpr bool is_ready() const { return what_ == kind::ready; }
  constexpr bool is_blocked() const { return what_ == kind::blocked; }
  constexpr bool is_done() const { return what_ == kind::done; }
  // Of an answer that is blocked.
  constexpr blocked_on why() const { return why_; }

  friend constexpr bool operator==(outcome, outcome) = default;

 private:
  enum class kind : uint8_t { ready, blocked, done };
  constexpr outcome(kind what, blocked_on why) : what_(what), why_(why) {}

  kind what_ = kind::ready;
  blocked_on why_ = blocked_on::io;
};

}  // namespace flowrun
