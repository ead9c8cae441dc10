#include "engine/metrics/collection.h"

namespace flowrun::metrics {

collection::attachment::~attachment() {
  if (owner_ == nullptr) return;
  std::lock_guard lock(owner_->mutex_);
  owner_->collectors_.erase(where_);
}

collection::attachment collection::attach(collector from) {
  std::lock_guard lock(mutex_);
  attachment out;
  out.owner_ = this;
  out.where_ = collectors_.insert(collectors_.end(), std::move(from));
  return out;
}

void collection::collect(sink& into) {
  std::lock_guard lock(mutex_);
  for (const collector& from : collectors_) from(into);
}

}  // namespace flowrun::metrics
