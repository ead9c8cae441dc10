// Arrow IPC files (Feather, version 2): each chunk is a record batch.
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>

#include <utility>

#include "failures.h"
#include "output_encoder.h"

namespace columnar {

namespace {

class ipc_encoder final : public output_encoder {
 public:
  ipc_encoder(const encoding& how, const std::shared_ptr<arrow::Schema>& schema, std::shared_ptr<byte_collector> to,
              counting_pool& pool)
      : doing_("cannot write '" + how.path + "'") {
    arrow::ipc::IpcWriteOptions options;
    options.memory_pool = &pool;
    options.use_threads = false;
    if (how.compression != "none") {
      const arrow::Compression::type type =
          how.compression == "zstd" ? arrow::Compression::ZSTD : arrow::Compression::LZ4_FRAME;
      options.codec = attempt(doing_, [&] { return arrow::util::Codec::Create(type); });
    }
    file_ = attempt(doing_, [&] { return arrow::ipc::MakeFileWriter(std::move(to), schema, options); });
  }
  void write(const arrow::RecordBatch& rows) override {
    attempt(doing_, [&] { return file_->WriteRecordBatch(rows); });
  }
  void end_portion() override {}
  void close() override {
    attempt(doing_, [&] { return file_->Close(); });
  }

 private:
  const std::string doing_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> file_;
};

}  // namespace

std::unique_ptr<output_encoder> encode_ipc(const encoding& how, const std::shared_ptr<arrow::Schema>& schema,
                                           std::shared_ptr<byte_collector> to, counting_pool& pool) {
  return std::make_unique<ipc_encoder>(how, schema, std::move(to), pool);
}

}  // namespace columnar
