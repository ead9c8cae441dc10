// A backend that keeps requests back until the test lets them through.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "engine/io/request.h"

namespace flowrun::exec {

// Lets the first `hold_from` requests through and keeps the others back until release(). Around a backend that carries
// nothing out on the caller's thread.
class gated_backend final : public io::backend {
 public:
  gated_backend(std::unique_ptr<io::backend> inner, uint64_t hold_from)
      : inner_(std::move(inner)), hold_from_(hold_from) {}
  // Waits for a release() that is at work, which the job can't know of.
  ~gated_backend() override;
  using backend::submit;
  void submit(std::span<io::request* const> requests) noexcept override;
  std::string_view name() const override { return inner_->name(); }
  bool is_holding() const;
  void release();

 private:
  std::unique_ptr<io::backend> inner_;
  mutable std::mutex mutex_;  // guards the rest; held by release() while it submits
  uint64_t hold_from_;
  uint64_t num_seen_ = 0;
  std::vector<io::request*> held_;
};

}  // namespace flowrun::exec
