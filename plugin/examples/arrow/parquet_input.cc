// Parquet: a portion is a row group.
//
// Each is decoded by a reader of its own, with the metadata that all share. Where a row group is large beside the
// memory, its columns are read through buffers and not as a whole, so that it may be larger than the memory by far:
// what lies there then is a page of each column and the rows that are being made.
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "failures.h"
#include "flat_column.h"
#include "input_file.h"
#include "snappy_pages.h"

namespace columnar {

namespace {

constexpr int64_t buffer_bytes = 256 << 10;
// Of a column that is read through a buffer: a page, packed and not, and a dictionary, of about 1 MiB each.
constexpr int64_t pages_bytes = 3 << 20;
// Of any column, and of the rows that are being made.
constexpr int64_t column_bytes = 128 << 10, decoding_bytes = 1 << 20;

struct file_column {
  int number;  // among the file's leaves; -1: it has several
  std::shared_ptr<arrow::Field> field;
};

// Flat columns are read here, the others by Arrow's reader, as many rows of those as of these.
class row_group final : public portion {
 public:
  // `open_pages`: those of a column of the row group.
  using open_pages = std::function<std::unique_ptr<parquet::PageReader>(parquet::RowGroupReader& group, int column)>;

  row_group(std::string doing, std::unique_ptr<parquet::arrow::FileReader> file, int number,
            const std::vector<file_column>& columns, int64_t rows_at_once, counting_pool& pool, const open_pages& pages)
      : doing_(std::move(doing)), file_(std::move(file)), rows_at_once_(rows_at_once) {
    attempt(doing_, [&] { return open(number, columns, pool, pages); });
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    return attempt(doing_, [&] { return read(); });
  }

 private:
  arrow::Status open(int number, const std::vector<file_column>& columns, counting_pool& pool,
                     const open_pages& pages) {
    const std::shared_ptr<parquet::RowGroupReader> group = file_->parquet_reader()->RowGroup(number);
    const parquet::SchemaDescriptor& stored = *group->metadata()->schema();
    rows_left_ = group->metadata()->num_rows();
    std::vector<int> others;
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const file_column& c : columns) {
      if (c.number < 0 || !is_flat(*stored.Column(c.number), *c.field->type())) {
        others.push_back(c.number);
        continue;
      }
      flat_.push_back(open_flat_column(*stored.Column(c.number), pages(*group, c.number), c.field->type(), pool));
      fields.push_back(c.field);
    }
    if (!others.empty()) {
      ARROW_ASSIGN_OR_RAISE(others_, file_->GetRecordBatchReader({number}, others));
      fields.insert(fields.end(), others_->schema()->fields().begin(), others_->schema()->fields().end());
    }
    schema_ = arrow::schema(std::move(fields));
    return arrow::Status::OK();
  }

  arrow::Result<std::shared_ptr<arrow::RecordBatch>> read() {
    std::shared_ptr<arrow::RecordBatch> others;
    if (others_) {
      ARROW_ASSIGN_OR_RAISE(others, others_->Next());
    }
    if (rows_left_ <= 0) return nullptr;
    if (others_ && others == nullptr) return arrow::Status::Invalid("a column has too few values");
    const int64_t num_rows = others ? others->num_rows() : std::min(rows_at_once_, rows_left_);
    std::vector<std::shared_ptr<arrow::Array>> columns;
    for (const std::unique_ptr<flat_column>& c : flat_) {
      ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), c->next(num_rows));
    }
    if (others) columns.insert(columns.end(), others->columns().begin(), others->columns().end());
    rows_left_ -= num_rows;
    return arrow::RecordBatch::Make(schema_, num_rows, std::move(columns));
  }

  const std::string doing_;
  const std::unique_ptr<parquet::arrow::FileReader> file_;
  const int64_t rows_at_once_;
  int64_t rows_left_ = 0;
  std::vector<std::unique_ptr<flat_column>> flat_;
  std::shared_ptr<arrow::RecordBatchReader> others_;  // null: there are none
  std::shared_ptr<arrow::Schema> schema_;             // the flat ones first
};

class parquet_input final : public input_file {
 public:
  parquet_input(const std::string& path, counting_pool& pool, count_bytes count)
      : doing_("cannot read '" + path + "'"), pool_(pool), file_(open_job_file(path, pool, std::move(count))) {
    const std::unique_ptr<parquet::arrow::FileReader> reader = make_reader({}, false);
    metadata_ = reader->parquet_reader()->metadata();
    check_sizes();
    attempt(doing_, [&] { return reader->GetSchema(&schema_); });
    for (const parquet::arrow::SchemaField& field : reader->manifest().schema_fields)
      columns_.push_back(field.column_index);
  }

  const arrow::Schema& schema() const override { return *schema_; }
  const char* portion_name() const override { return "row group"; }
  int num_portions() const override { return metadata_->num_row_groups(); }
  row_count num_rows() const override { return {metadata_->num_rows(), true}; }

  int64_t bytes_of(const std::vector<int>& fields) const override {
    int64_t sum = 0;
    for (int i = 0; i < num_portions(); ++i)
      each_chunk(i, fields, [&](const parquet::ColumnChunkMetaData& c) { sum += c.total_uncompressed_size(); });
    return sum;
  }
  int64_t stored_bytes(int number, const std::vector<int>& fields) const override {
    int64_t sum = 0;
    each_chunk(number, fields, [&](const parquet::ColumnChunkMetaData& c) { sum += c.total_compressed_size(); });
    return sum;
  }
  void announce(int number, const std::vector<int>& fields) const override {
    std::vector<arrow::io::ReadRange> ranges;
    each_chunk(number, fields, [&](const parquet::ColumnChunkMetaData& c) { ranges.push_back(stored_range(c)); });
    // Only a hint: ranges that a damaged file makes up are refused, and found when they are read.
    (void)file_->WillNeed(ranges);
  }

  int64_t memory_of(int number, const std::vector<int>& fields, bool whole) const override {
    int64_t sum = decoding_bytes;
    each_chunk(number, fields, [&](const parquet::ColumnChunkMetaData& c) {
      const int64_t all = column_bytes + c.total_compressed_size() + 2 * c.total_uncompressed_size();
      sum += whole ? all : std::min(all, pages_bytes);
    });
    return sum;
  }

  std::unique_ptr<portion> open(int number, const reading& how) const override {
    std::vector<file_column> columns;
    for (const int f : how.fields) columns.push_back({columns_[static_cast<size_t>(f)], schema_->field(f)});
    const bool is_large = stored_bytes(number, how.fields) > pool_.most_bytes() / 8;
    const auto pages = [&](parquet::RowGroupReader& group, int column) {
      auto own = open_snappy_pages(file_, *metadata_, number, column, storage(is_large), pool_);
      return own ? std::move(own) : group.GetColumnPageReader(column);
    };
    return std::make_unique<row_group>(doing_ + ", row group " + std::to_string(number), make_reader(how, is_large),
                                       number, columns, how.rows_at_once, pool_, pages);
  }

 private:
  parquet::ReaderProperties storage(bool is_large) const {
    parquet::ReaderProperties out(&pool_);
    out.set_page_checksum_verification(true);  // of pages that have one
    if (is_large) {
      out.enable_buffered_stream();
      out.set_buffer_size(buffer_bytes);
    }
    return out;
  }

  std::unique_ptr<parquet::arrow::FileReader> make_reader(const reading& how, bool is_large) const {
    parquet::ArrowReaderProperties rows(/*use_threads=*/false);
    rows.set_pre_buffer(false);
    rows.set_batch_size(how.rows_at_once);
    parquet::arrow::FileReaderBuilder builder;
    attempt(doing_, [&] { return builder.Open(file_, storage(is_large), metadata_); });
    builder.memory_pool(&pool_)->properties(rows);
    return attempt(doing_, [&] { return builder.Build(); });
  }

  // What a damaged footer says of sizes would else be counted with.
  void check_sizes() const {
    constexpr int64_t most_rows = int64_t{1} << 48, most_bytes = int64_t{1} << 40;
    const auto is_wrong = [](int64_t size, int64_t most) { return size < 0 || size > most; };
    bool wrong = is_wrong(metadata_->num_rows(), most_rows);
    attempt(doing_, [&] {
      for (int i = 0; i < num_portions(); ++i) {
        const std::unique_ptr<parquet::RowGroupMetaData> group = metadata_->RowGroup(i);
        wrong = wrong || is_wrong(group->num_rows(), most_rows);
        for (int c = 0; c < group->num_columns(); ++c) {
          const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group->ColumnChunk(c);
          wrong = wrong || is_wrong(chunk->total_compressed_size(), most_bytes) ||
                  is_wrong(chunk->total_uncompressed_size(), most_bytes);
        }
      }
      return wrong ? arrow::Status::Invalid("its footer tells sizes that no file has") : arrow::Status::OK();
    });
  }

  template <class Call>
  void each_chunk(int number, const std::vector<int>& fields, Call call) const {
    attempt(doing_, [&] {
      const std::unique_ptr<parquet::RowGroupMetaData> group = metadata_->RowGroup(number);
      for (const int f : fields) call(*group->ColumnChunk(columns_[static_cast<size_t>(f)]));
      return arrow::Status::OK();
    });
  }

  const std::string doing_;
  counting_pool& pool_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> columns_;  // of each field: where its values lie; -1: in several places
};

}  // namespace

std::unique_ptr<input_file> open_parquet(const std::string& path, counting_pool& pool, count_bytes count) {
  return std::make_unique<parquet_input>(path, pool, std::move(count));
}

}  // namespace columnar
