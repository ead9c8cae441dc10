// What Arrow writes, until it is handed on: a stream that keeps pages as they are instead of copying them.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>

#include <deque>
#include <memory>
#include <string_view>

#include "counting_pool.h"

namespace columnar {

class byte_collector final : public arrow::io::OutputStream {
 public:
  explicit byte_collector(counting_pool& pool) : pool_(pool) {}

  arrow::Status Write(const void* data, int64_t num_bytes) override;
  arrow::Status Write(const std::shared_ptr<arrow::Buffer>& data) override;
  arrow::Result<int64_t> Tell() const override { return written_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

  // The oldest bytes that are left; empty: there are none. They lie there until done().
  std::string_view front() const;
  void done(size_t num_bytes);

 private:
  counting_pool& pool_;
  std::deque<std::shared_ptr<arrow::Buffer>> blocks_;
  std::shared_ptr<arrow::ResizableBuffer> last_;  // of small writes; the last of blocks_, or null
  size_t taken_ = 0;                              // of the first block
  int64_t written_ = 0;
};

}  // namespace columnar
