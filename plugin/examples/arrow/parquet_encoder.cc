// Parquet. The pages of a row group stay in memory until it ends, since those of a column lie together in the file.
#include <arrow/type.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "failures.h"
#include "output_encoder.h"

namespace columnar {

namespace {

parquet::Compression::type codec(const std::string& name) {
  if (name == "snappy") return parquet::Compression::SNAPPY;
  if (name == "zstd") return parquet::Compression::ZSTD;
  if (name == "lz4") return parquet::Compression::LZ4;
  return parquet::Compression::UNCOMPRESSED;
}

class parquet_encoder final : public output_encoder {
 public:
  parquet_encoder(const encoding& how, const std::shared_ptr<arrow::Schema>& schema, std::shared_ptr<byte_collector> to,
                  counting_pool& pool)
      : doing_("cannot write '" + how.path + "'") {
    parquet::WriterProperties::Builder storage;
    storage.memory_pool(&pool)
        ->compression(codec(how.compression))
        // The hash table of a dictionary takes up to twelve times its bytes; all together less than a row group.
        ->dictionary_pagesize_limit(
            std::clamp<int64_t>(how.bytes_of_group / 16 / schema->num_fields(), 4 << 10, 1 << 20))
        ->enable_page_checksum()
        ->max_row_group_length(std::numeric_limits<int64_t>::max());  // end_portion() says where they end
    file_ = attempt(doing_, [&] { return parquet::arrow::FileWriter::Open(*schema, &pool, to, storage.build()); });
  }
  void write(const arrow::RecordBatch& rows) override {
    if (!std::exchange(is_open_, true)) attempt(doing_, [&] { return file_->NewBufferedRowGroup(); });
    attempt(doing_, [&] { return file_->WriteRecordBatch(rows); });
  }
  // The next rows end it, by beginning another.
  void end_portion() override { is_open_ = false; }
  void close() override {
    attempt(doing_, [&] { return file_->Close(); });
  }

 private:
  const std::string doing_;
  std::unique_ptr<parquet::arrow::FileWriter> file_;
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<output_encoder> encode_parquet(const encoding& how, const std::shared_ptr<arrow::Schema>& schema,
                                               std::shared_ptr<byte_collector> to, counting_pool& pool) {
  return std::make_unique<parquet_encoder>(how, schema, std::move(to), pool);
}

}  // namespace columnar
