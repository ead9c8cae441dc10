// Failures on demand, for tests: a backend that hands requests to another one, except those that a list of faults
// names. Deterministic: each fault counts the requests of its direction and file in the order of submission.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.h"
#include "engine/io/request.h"

namespace flowrun::io {

struct injected_fault {
  enum class effect : uint8_t {
    fail,      // the request ends with errno `value`; nothing is moved
    shorten,   // only the first `value` bytes are moved (at most all of them)
    flip_bit,  // bit `value` (modulo the length) of the data is turned over on its way; the transfer succeeds
  };
  direction way = direction::read;
  uint64_t nth = 1;           // the first one hit, counted from 1
  uint64_t num_requests = 1;  // this many in a row are hit
  effect what = effect::fail;
  uint64_t value = 0;
  // Only requests for files whose path() contains this count; the path of a scratch file is its directory's.
  std::string path = {};
};

// A request that is hit is carried out on the caller's thread, inside submit().
class faulty_backend final : public backend {
 public:
  faulty_backend(std::unique_ptr<backend> inner, std::vector<injected_fault> faults);
  using backend::submit;
  void submit(std::span<request* const> requests) noexcept override;
  bool cancel(request& waiting) noexcept override { return inner_->cancel(waiting); }
  const time_source& time() const override { return inner_->time(); }
  std::string_view name() const override { return inner_->name(); }

  // Requests seen so far.
  uint64_t num_submitted(direction way) const;
  uint64_t num_hit() const;

 private:
  const injected_fault* hit(const request& r);

  std::unique_ptr<backend> inner_;
  const std::vector<injected_fault> faults_;
  mutable mutex mutex_;
  std::vector<uint64_t> num_seen_ FLOWRUN_GUARDED_BY(mutex_);  // by fault
  uint64_t num_reads_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  uint64_t num_writes_ FLOWRUN_GUARDED_BY(mutex_) = 0;
  uint64_t num_hit_ FLOWRUN_GUARDED_BY(mutex_) = 0;
};

}  // namespace flowrun::io
