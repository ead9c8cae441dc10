#include "tests/support/gated_backend.h"

namespace flowrun::exec {

void gated_backend::submit(std::span<io::request* const> requests) noexcept {
  for (io::request* one : requests) {
    {
      std::lock_guard lock(mutex_);
      if (++num_seen_ > hold_from_) {
        held_.push_back(one);
        continue;
      }
    }
    inner_->submit(*one);
  }
}

bool gated_backend::is_holding() const {
  std::lock_guard lock(mutex_);
  return !held_.empty();
}

void gated_backend::release() {
  std::lock_guard lock(mutex_);
  hold_from_ = UINT64_MAX;
  for (io::request* one : held_) inner_->submit(*one);
  held_.clear();
}

gated_backend::~gated_backend() { std::lock_guard lock(mutex_); }

}  // namespace flowrun::exec
