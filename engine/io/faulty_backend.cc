#include "engine/io/faulty_backend.h"

#include <algorithm>

#include "engine/base/buffer.h"
#include "engine/base/mutex.h"
#include "engine/io/file.h"

namespace flowrun::io {

namespace {

void flip(std::byte* data, size_t num_bytes, uint64_t bit) {
  if (num_bytes > 0) data[bit / 8 % num_bytes] ^= std::byte{1} << static_cast<int>(bit % 8);
}

int64_t carry_out(const request& r, const injected_fault& fault) {
  if (fault.what == injected_fault::effect::fail) return -static_cast<int64_t>(fault.value);
  // Through a buffer of our own: the data of a write isn't ours to change, and a direct file wants whole pages. What is
  // not to be moved is not moved.
  aligned_buffer copy(r.num_bytes);
  const bool shorten = fault.what == injected_fault::effect::shorten;
  const size_t wanted = shorten ? static_cast<size_t>(std::min<uint64_t>(fault.value, r.num_bytes)) : r.num_bytes;
  const size_t asked = r.target->is_direct() ? round_up(wanted, io_alignment) : wanted;
  if (wanted == 0) return 0;
  int64_t moved = 0;
  if (r.way == direction::read) {
    moved = std::min<int64_t>(r.target->read_at(r.offset, copy.data(), asked), static_cast<int64_t>(wanted));
    if (moved <= 0) return moved;
    if (!shorten) flip(copy.data(), static_cast<size_t>(moved), fault.value);
    std::copy_n(copy.data(), moved, r.data);
  } else {
    std::copy_n(r.data, r.num_bytes, copy.data());
    if (!shorten) flip(copy.data(), r.num_bytes, fault.value);
    moved = std::min<int64_t>(r.target->write_at(r.offset, copy.data(), asked), static_cast<int64_t>(wanted));
  }
  return moved;
}

}  // namespace

faulty_backend::faulty_backend(std::unique_ptr<backend> inner, std::vector<injected_fault> faults)
    : inner_(std::move(inner)), faults_(std::move(faults)), num_seen_(faults_.size()) {}

const injected_fault* faulty_backend::hit(const request& r) {
  mutex_lock lock(mutex_);
  ++(r.way == direction::read ? num_reads_ : num_writes_);
  const injected_fault* first = nullptr;
  for (size_t i = 0; i < faults_.size(); ++i) {
    const injected_fault& f = faults_[i];
    if (f.way != r.way || r.target->path().find(f.path) == std::string::npos) continue;
    const uint64_t number = ++num_seen_[i];
    if (first == nullptr && number >= f.nth && number - f.nth < f.num_requests) first = &f;
  }
  num_hit_ += first != nullptr ? 1 : 0;
  return first;
}

void faulty_backend::submit(std::span<request* const> requests) noexcept {
  // Those between two that are hit stay together: a backend decides about the order of what it gets in one go.
  size_t first = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    request& r = *requests[i];
    const injected_fault* const fault = hit(r);
    if (fault == nullptr) continue;
    if (first < i) inner_->submit(requests.subspan(first, i - first));
    first = i + 1;
    r.start(time().now());
    r.complete(carry_out(r, *fault), time().now());
  }
  if (first < requests.size()) inner_->submit(requests.subspan(first));
}

uint64_t faulty_backend::num_submitted(direction way) const {
  mutex_lock lock(mutex_);
  return way == direction::read ? num_reads_ : num_writes_;
}

uint64_t faulty_backend::num_hit() const {
  mutex_lock lock(mutex_);
  return num_hit_;
}

}  // namespace flowrun::io
