#include "engine/io/statistics.h"

#include "engine/base/mutex.h"

namespace flowrun::io {

namespace {

// Threads read the clock before they take the lock, so that times may arrive slightly out of order.
uint64_t elapsed(uint64_t since, uint64_t now) { return now > since ? now - since : 0; }

size_t bucket_of(uint64_t ns) {
  size_t bucket = 0;
  while (ns >= transfer_statistics::latency_bound_ns(bucket) && bucket + 1 < transfer_statistics::num_buckets) ++bucket;
  return bucket;
}

}  // namespace

void disk_statistics::begin(direction way, uint64_t now) noexcept {
  mutex_lock lock(mutex_);
  side& s = of(way);
  if (reads_.total.in_flight + writes_.total.in_flight == 0) busy_since_ = now;
  if (s.total.in_flight++ == 0) s.busy_since = now;
}

void disk_statistics::end(direction way, uint64_t started, uint64_t now, int64_t result) noexcept {
  mutex_lock lock(mutex_);
  side& s = of(way);
  ++s.total.num_operations;
  if (result >= 0)
    s.total.num_bytes += static_cast<uint64_t>(result);
  else
    ++s.total.num_errors;
  s.total.service_ns += elapsed(started, now);
  ++s.total.latency[bucket_of(elapsed(started, now))];
  if (--s.total.in_flight == 0) s.total.busy_ns += elapsed(s.busy_since, now);
  if (reads_.total.in_flight + writes_.total.in_flight == 0) busy_ns_ += elapsed(busy_since_, now);
}

void disk_statistics::add_wait(direction way, uint64_t ns) noexcept {
  mutex_lock lock(mutex_);
  of(way).total.wait_ns += ns;
}

disk_snapshot disk_statistics::snapshot() const {
  mutex_lock lock(mutex_);
  const uint64_t now = time_.now();
  disk_snapshot result{name_, reads_.total, writes_.total, busy_ns_};
  if (result.reads.in_flight > 0) result.reads.busy_ns += elapsed(reads_.busy_since, now);
  if (result.writes.in_flight > 0) result.writes.busy_ns += elapsed(writes_.busy_since, now);
  if (result.reads.in_flight + result.writes.in_flight > 0) result.busy_ns += elapsed(busy_since_, now);
  return result;
}

}  // namespace flowrun::io
