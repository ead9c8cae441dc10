#include "byte_collector.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace columnar {

namespace {

constexpr int64_t block_bytes = 64 << 10;

}  // namespace

arrow::Status byte_collector::Write(const void* data, int64_t num_bytes) {
  if (num_bytes == 0) return arrow::Status::OK();
  if (last_ == nullptr || last_->size() + num_bytes > last_->capacity()) {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> block,
                          arrow::AllocateResizableBuffer(std::max(num_bytes, block_bytes), &pool_));
    ARROW_RETURN_NOT_OK(block->Resize(0, false));
    last_ = std::move(block);
    blocks_.push_back(last_);
  }
  const int64_t at = last_->size();
  ARROW_RETURN_NOT_OK(last_->Resize(at + num_bytes, false));
  std::memcpy(last_->mutable_data() + at, data, static_cast<size_t>(num_bytes));
  written_ += num_bytes;
  return arrow::Status::OK();
}

arrow::Status byte_collector::Write(const std::shared_ptr<arrow::Buffer>& data) {
  // Small ones are not worth a block; the memory of others may be used again when the call has returned.
  if (data->size() < block_bytes || !data->is_mutable()) return Write(data->data(), data->size());
  last_ = nullptr;
  blocks_.push_back(data);
  written_ += data->size();
  return arrow::Status::OK();
}

std::string_view byte_collector::front() const {
  if (blocks_.empty()) return {};
  const arrow::Buffer& first = *blocks_.front();
  return {reinterpret_cast<const char*>(first.data()) + taken_, static_cast<size_t>(first.size()) - taken_};
}

void byte_collector::done(size_t num_bytes) {
  taken_ += num_bytes;
  if (blocks_.empty() || taken_ < static_cast<size_t>(blocks_.front()->size())) return;
  if (blocks_.front() == last_) last_ = nullptr;
  blocks_.pop_front();
  taken_ = 0;
}

}  // namespace columnar
