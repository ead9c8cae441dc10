// What one disk did: operations, bytes and times, reads and writes apart.
//
// Three times answer three questions. Service time (the sum over the transfers of done - submitted) divided by
// operations is the latency. Busy time (at least one transfer in flight) divided by the wall clock is the utilisation.
// Wait time is what computation lost by waiting for this disk: from the moment when a consumer or producer of blocks
// had to stop until the transfer that it needed was over (STXXL, section 3). Thread-safe; one short critical
// section per begin and end, which is nothing beside a transfer.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"
#include "engine/io/transfer.h"

namespace flowrun::io {

struct transfer_statistics {
  // Histogram of service times: bucket i counts transfers below latency_bound_ns(i) and not below the bound before.
  static constexpr size_t num_buckets = 22;
  static constexpr uint64_t latency_bound_ns(size_t bucket) {  // 8.2 us, 16.4 us, … 17 s; the last bucket is open
    return bucket + 1 < num_buckets ? uint64_t{8192} << bucket : UINT64_MAX;
  }

  uint64_t num_operations = 0;  // finished ones, also those that failed
  uint64_t num_bytes = 0;
  uint64_t num_errors = 0;
  uint64_t service_ns = 0;
  uint64_t busy_ns = 0;
  uint64_t wait_ns = 0;
  unsigned in_flight = 0;
  std::array<uint64_t, num_buckets> latency{};
};

struct disk_snapshot {
  std::string name;
  transfer_statistics reads;
  transfer_statistics writes;
  uint64_t busy_ns = 0;  // reads or writes in flight
};

class disk_statistics {
 public:
  // `name` is the disk's directory or the file's path: what the report prints.
  explicit disk_statistics(std::string name, const time_source& time = steady_time())
      : name_(std::move(name)), time_(time) {}
  disk_statistics(const disk_statistics&) = delete;
  disk_statistics& operator=(const disk_statistics&) = delete;

  const std::string& name() const { return name_; }
  // A transfer starts; and ends with `result` bytes moved or a negative errno.
  void begin(direction way, uint64_t now) noexcept;
  void end(direction way, uint64_t started, uint64_t now, int64_t result) noexcept;
  // Computation stood still for `ns` because of transfers of this direction.
  void add_wait(direction way, uint64_t ns) noexcept;
  // Consistent; counts the busy time of transfers in flight up to now.
  disk_snapshot snapshot() const;

 private:
  struct side {
    transfer_statistics total;
    uint64_t busy_since = 0;
  };
  side& of(direction way) FLOWRUN_REQUIRES(mutex_) { return way == direction::read ? reads_ : writes_; }

  const std::string name_;
  const time_source& time_;
  mutable mutex mutex_;
  side reads_ FLOWRUN_GUARDED_BY(mutex_);
  side writes_ FLOWRUN_GUARDED_BY(mutex_);
  uint64_t busy_ns_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  uint64_t busy_since_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::io
