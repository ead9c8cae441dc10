#include "engine/io/simulated_backend.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/io/backends.h"
#include "engine/io/file.h"

namespace flowrun::io {

simulated_backend::simulated_backend(event_clock& clock, disk_model other)
    : queueing_backend(unbounded), clock_(clock) {
  disks_.push_back({{}, modelled_disk(std::move(other))});
}

void simulated_backend::attach(std::string path, disk_model model) {
  FLOWRUN_CHECK(!path.empty());
  mutex_lock lock(mutex_);
  disks_.push_back({std::move(path), modelled_disk(std::move(model))});
}

const modelled_disk& simulated_backend::disk_at(const std::string& path) const {
  for (const disk& one : disks_)
    if (one.path == path) return one.timing;
  internal_error("no simulated disk is attached at " + path);
}

simulated_backend::disk& simulated_backend::disk_of(const file& target) {
  const std::string& path = target.path();
  for (disk& one : disks_) {
    if (one.path.empty() || path.compare(0, one.path.size(), one.path) != 0) continue;
    if (path.size() == one.path.size() || path[one.path.size()] == '/') return one;
  }
  return disks_.front();
}

void simulated_backend::issue(request_queue admitted) noexcept {
  while (request* const r = admitted.pop()) {
    mutex_lock lock(mutex_);
    const uint64_t end = disk_of(*r->target).timing.serve(clock_.now(), r->offset, r->num_bytes);
    // The bytes move at the end, so that a caller who touches them too early is found out.
    clock_.schedule(end, [this, r] { finish(*r, perform(*r)); });
  }
}

}  // namespace flowrun::io
