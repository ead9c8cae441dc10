// System calls that a signal interrupts are made again, but not for ever: no failure may become a hang.
#pragma once

#include <cerrno>

namespace flowrun {

// Calls `call` until it returns no negative number or errno is not EINTR; a thousand times at most.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  for (int attempt = 0; result < 0 && errno == EINTR && attempt < 1000; ++attempt) result = call();
  return result;
}

}  // namespace flowrun
