#include "engine/metrics/collection.h"

#include "engine/base/mutex.h"

namespace flowrun::metrics {

collection::attachment::~attachment() {
  if (owner_ == nullptr) return;
  mutex_lock lock(owner_->mutex_);
  owner_->collectors_.erase(where_);
}

collection::attachment collection::attach(collector from) {
  mutex_lock lock(mutex_);
  attachment out;
  out.where_ = collectors_.insert(collectors_.end(), std::move(from));
  out.owner_ = this;  // last: without memory it is destroyed here, and would wait for the lock
  return out;
}

void collection::collect(sink& into) {
  mutex_lock lock(mutex_);
  for (const collector& from : collectors_) from(into);
}

}  // namespace flowrun::metrics
