#include "engine/io/queueing_backend.h"

#include <cerrno>

namespace flowrun::io {

void queueing_backend::submit(std::span<request* const> requests) noexcept {
  request_queue admitted;
  const uint64_t now = time().now();
  for (request* r : requests) {
    r->start(now);
    queue_of(*r).enter(*r, admitted);
  }
  if (!admitted.empty()) issue(admitted);
}

bool queueing_backend::cancel(request& waiting) noexcept {
  if (!waiting.in_flight() || !queue_of(waiting).withdraw(waiting)) return false;
  waiting.complete(-ECANCELED, time().now());
  return true;
}

void queueing_backend::finish(request& r, int64_t result, request_queue& admitted) noexcept {
  // The queue first: once the request is complete, its owner may take down both.
  leave_queue(r, admitted);
  r.complete(result, time().now());
}

void queueing_backend::finish(request& r, int64_t result) noexcept {
  request_queue admitted;
  finish(r, result, admitted);
  if (!admitted.empty()) issue(admitted);
}

}  // namespace flowrun::io
