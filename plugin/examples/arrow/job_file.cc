#include "job_file.h"

#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/util/future.h>

#include <utility>
#include <vector>

#include "failures.h"

namespace columnar {

namespace {

class job_file final : public arrow::io::RandomAccessFile {
 public:
  job_file(std::shared_ptr<arrow::io::ReadableFile> below, counting_pool& pool, count_bytes count)
      : below_(std::move(below)), pool_(pool), count_(std::move(count)) {}

  arrow::Status Close() override { return below_->Close(); }
  bool closed() const override { return below_->closed(); }
  arrow::Result<int64_t> Tell() const override { return below_->Tell(); }
  arrow::Status Seek(int64_t position) override { return below_->Seek(position); }
  arrow::Result<int64_t> GetSize() override { return below_->GetSize(); }
  arrow::Status WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override { return below_->WillNeed(ranges); }

  arrow::Result<int64_t> Read(int64_t num_bytes, void* out) override { return counted(below_->Read(num_bytes, out)); }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t num_bytes) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t at, Tell());
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, ReadAt(at, num_bytes));
    ARROW_RETURN_NOT_OK(Seek(at + bytes->size()));
    return bytes;
  }

  // All buffers come from the pool; Arrow's own functions take memory that nobody counts.
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t num_bytes, void* out) override {
    return counted(below_->ReadAt(position, num_bytes, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t num_bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> bytes,
                          arrow::AllocateResizableBuffer(num_bytes, &pool_));
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, num_bytes, bytes->mutable_data()));
    if (read < num_bytes) ARROW_RETURN_NOT_OK(bytes->Resize(read));
    return std::shared_ptr<arrow::Buffer>(std::move(bytes));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t num_bytes,
                                                       bool allow_short_read) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> bytes, ReadAt(position, num_bytes));
    if (!allow_short_read && bytes->size() < num_bytes)
      return arrow::Status::IOError("the file ends before byte ", position + num_bytes);
    return bytes;
  }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t num_bytes, bool allow_short_read, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, num_bytes, out));
    if (!allow_short_read && read < num_bytes)
      return arrow::Status::IOError("the file ends before byte ", position + num_bytes);
    return read;
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, int64_t position,
                                                          int64_t num_bytes) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, num_bytes));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&, int64_t position,
                                                          int64_t num_bytes, bool allow_short_read) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, num_bytes, allow_short_read));
  }

 private:
  arrow::Result<int64_t> counted(arrow::Result<int64_t> read) const {
    if (count_ && read.ok()) count_(static_cast<uint64_t>(*read));
    return read;
  }

  const std::shared_ptr<arrow::io::ReadableFile> below_;
  counting_pool& pool_;
  const count_bytes count_;
};

}  // namespace

std::shared_ptr<arrow::io::RandomAccessFile> open_job_file(const std::string& path, counting_pool& pool,
                                                           count_bytes count) {
  auto below = attempt("cannot read '" + path + "'", [&] { return arrow::io::ReadableFile::Open(path, &pool); });
  return std::make_shared<job_file>(std::move(below), pool, std::move(count));
}

}  // namespace columnar
