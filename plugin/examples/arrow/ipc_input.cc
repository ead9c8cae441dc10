// Arrow IPC files: a portion is a record batch, which is read as a whole.
//
// Nothing in such a file says whether its bytes are still what was written. So what could lead out of a batch
// (places of texts, numbers of dictionary entries) is looked at before it is used.
#include <arrow/array.h>
#include <arrow/ipc/reader.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "failures.h"
#include "input_file.h"

namespace columnar {

namespace {

constexpr int64_t guessed_bytes = 16 << 20;

class ipc_input;

class record_batch final : public portion {
 public:
  record_batch(const ipc_input& file, int number, const reading& how) : file_(file), number_(number), how_(how) {}
  std::shared_ptr<arrow::RecordBatch> next() override;

 private:
  const ipc_input& file_;
  const int number_;
  const reading how_;
  bool is_done_ = false;
};

class ipc_input final : public input_file {
 public:
  ipc_input(const std::string& path, counting_pool& pool, count_bytes count)
      : doing_("cannot read '" + path + "'"), pool_(pool), file_(open_job_file(path, pool, std::move(count))) {
    const auto all = attempt(doing_, [&] { return arrow::ipc::RecordBatchFileReader::Open(file_, options({})); });
    schema_ = all->schema();
    num_portions_ = all->num_record_batches();
    num_bytes_ = attempt(doing_, [&] { return file_->GetSize(); });
  }

  const arrow::Schema& schema() const override { return *schema_; }
  const char* portion_name() const override { return "record batch"; }
  int num_portions() const override { return num_portions_; }
  // How many there are stands in each batch, and not in one place.
  row_count num_rows() const override {
    int64_t row_bytes = 0;
    for (const std::shared_ptr<arrow::Field>& field : schema_->fields()) row_bytes += typical_bytes(*field->type());
    return {num_bytes_ / std::max<int64_t>(row_bytes, 1), false};
  }
  int64_t bytes_of(const std::vector<int>&) const override { return num_bytes_; }
  int64_t stored_bytes(int, const std::vector<int>&) const override {
    return num_portions_ == 0 ? 0 : num_bytes_ / num_portions_;
  }
  void announce(int, const std::vector<int>&) const override {}
  // As it lies in the file, and not packed. How large batches are stands in each: so this is a guess, and asks for
  // little if they are large.
  int64_t memory_of(int number, const std::vector<int>& fields, bool whole) const override {
    const int64_t all = 3 * stored_bytes(number, fields);
    return (whole ? all : std::min(all, guessed_bytes)) + (1 << 20);
  }
  std::unique_ptr<portion> open(int number, const reading& how) const override {
    return std::make_unique<record_batch>(*this, number, how);
  }

  std::shared_ptr<arrow::RecordBatch> read(int number, const std::vector<int>& fields) const {
    const std::string doing = doing_ + ", record batch " + std::to_string(number);
    std::shared_ptr<arrow::RecordBatch> out;
    {
      // The reader keeps dictionaries that batches share.
      const std::lock_guard lock(mutex_);
      if (!reader_ || fields_ != fields) {
        reader_ = attempt(doing, [&] { return arrow::ipc::RecordBatchFileReader::Open(file_, options(fields)); });
        fields_ = fields;
      }
      // Of a part of the columns, this way: each buffer is read by itself. Else Arrow takes memory for all of the
      // batch, and from no pool.
      if (is_part(fields)) attempt(doing, [&] { return reader_->PreBufferMetadata({number}); });
      out = attempt(doing, [&] { return reader_->ReadRecordBatch(number); });
    }
    attempt(doing, [&] { return out->Validate(); });
    for (const std::shared_ptr<arrow::Array>& column : out->columns())
      if (!arrow::is_fixed_width(column->type_id()) || column->type_id() == arrow::Type::DICTIONARY)
        attempt(doing, [&] { return column->ValidateFull(); });
    return out;
  }

 private:
  // Of a value; a guess where they are of different lengths.
  static int64_t typical_bytes(const arrow::DataType& type) {
    return arrow::is_fixed_width(type.id()) && type.id() != arrow::Type::BOOL ? type.byte_width() : 12;
  }

  bool is_part(const std::vector<int>& fields) const {
    return schema_ != nullptr && fields.size() < static_cast<size_t>(schema_->num_fields());
  }
  arrow::ipc::IpcReadOptions options(const std::vector<int>& fields) const {
    arrow::ipc::IpcReadOptions out;
    out.memory_pool = &pool_;
    out.use_threads = false;
    out.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    if (is_part(fields)) out.included_fields = fields;
    return out;
  }

  const std::string doing_;
  counting_pool& pool_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<arrow::Schema> schema_;
  int num_portions_ = 0;
  int64_t num_bytes_ = 0;

  mutable std::mutex mutex_;
  mutable std::vector<int> fields_;                                    // of the reader; guarded by mutex_
  mutable std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;  // guarded by mutex_
};

std::shared_ptr<arrow::RecordBatch> record_batch::next() {
  if (std::exchange(is_done_, true)) return nullptr;
  return file_.read(number_, how_.fields);
}

}  // namespace

std::unique_ptr<input_file> open_ipc(const std::string& path, counting_pool& pool, count_bytes count) {
  return std::make_unique<ipc_input>(path, pool, std::move(count));
}

}  // namespace columnar
