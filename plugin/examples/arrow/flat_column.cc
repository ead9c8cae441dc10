#include "flat_column.h"

#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/types.h>

#include <algorithm>
#include <array>
#include <utility>

namespace columnar {

namespace {

// The pages of a column chunk; notes of each whether all of its rows have values.
class watched_pages final : public parquet::PageReader {
 public:
  // `is_full` is about the page that was taken last.
  watched_pages(std::unique_ptr<parquet::PageReader> pages, bool& is_full)
      : pages_(std::move(pages)), is_full_(is_full) {}

  std::shared_ptr<parquet::Page> NextPage() override {
    std::shared_ptr<parquet::Page> page = pages_->NextPage();
    if (page == nullptr) return page;
    if (page->type() == parquet::PageType::DATA_PAGE) look_at(static_cast<const parquet::DataPageV1&>(*page));
    if (page->type() == parquet::PageType::DATA_PAGE_V2) look_at(static_cast<const parquet::DataPageV2&>(*page));
    return page;
  }
  void set_max_page_header_size(uint32_t size) override { pages_->set_max_page_header_size(size); }

 private:
  // The levels themselves are counted, which is a matter of a few runs: statistics may be wrong.
  void look_at(const parquet::DataPageV1& page) {
    is_full_ = false;
    if (page.definition_level_encoding() != parquet::Encoding::RLE) return;
    levels_.SetData(parquet::Encoding::RLE, 1, page.num_values(), page.data(), page.size());
    count(page.num_values());
  }
  void look_at(const parquet::DataPageV2& page) {
    const int64_t at = page.repetition_levels_byte_length(), size = page.definition_levels_byte_length();
    is_full_ = false;
    if (at < 0 || size < 0 || at + size > page.size()) return;  // found by who reads the page
    levels_.SetDataV2(static_cast<int32_t>(size), 1, page.num_values(), page.data() + at);
    count(page.num_values());
  }
  void count(int num_rows) { is_full_ = levels_.CountUpTo(1, num_rows).matching_count == num_rows; }

  const std::unique_ptr<parquet::PageReader> pages_;
  bool& is_full_;
  parquet::LevelDecoder levels_;
};

template <class Stored>
class typed_column final : public flat_column {
 public:
  typed_column(const parquet::ColumnDescriptor& column, std::unique_ptr<parquet::PageReader> pages,
               std::shared_ptr<arrow::DataType> type, counting_pool& pool)
      : type_(std::move(type)), pool_(pool) {
    page_is_full_ = column.max_definition_level() == 0;
    if (!page_is_full_) pages = std::make_unique<watched_pages>(std::move(pages), page_is_full_);
    reader_ = std::static_pointer_cast<parquet::TypedColumnReader<Stored>>(
        parquet::ColumnReader::Make(&column, std::move(pages), &pool));
  }

  arrow::Result<std::shared_ptr<arrow::Array>> next(int64_t num_rows) override {
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(num_rows * static_cast<int64_t>(sizeof(value)), &pool_));
    auto* const to = reinterpret_cast<value*>(values->mutable_data());
    std::shared_ptr<arrow::Buffer> valid;  // null: no nulls so far
    int64_t num_nulls = 0;
    for (int64_t done = 0; done < num_rows;) {
      int64_t n = 0, num_values = 0;
      if (reader_->HasNext())  // takes a page if need be
        n = page_is_full_ ? reader_->ReadBatch(num_rows - done, nullptr, nullptr, to + done, &num_values)
                          : reader_->ReadBatch(std::min(num_rows - done, most_levels), levels_.data(), nullptr,
                                               to + done, &num_values);
      if (n == 0) return arrow::Status::Invalid("column '", reader_->descr()->name(), "' has too few values");
      if (num_values < n) {
        if (valid == nullptr) {
          ARROW_ASSIGN_OR_RAISE(valid, arrow::AllocateBitmap(num_rows, &pool_));
          arrow::bit_util::SetBitsTo(valid->mutable_data(), 0, num_rows, true);
        }
        ARROW_RETURN_NOT_OK(spread_out(to + done, n, num_values, valid->mutable_data(), done));
        num_nulls += n - num_values;
      }
      done += n;
    }
    return arrow::MakeArray(arrow::ArrayData::Make(type_, num_rows, {std::move(valid), values}, num_nulls));
  }

 private:
  using value = typename Stored::c_type;
  static constexpr int64_t most_levels = 1024;

  // Values to their rows, from behind.
  arrow::Status spread_out(value* to, int64_t num_rows, int64_t num_values, uint8_t* valid, int64_t first) const {
    int64_t left = num_values;
    for (int64_t i = num_rows - 1; i >= 0; --i) {
      if (levels_[static_cast<size_t>(i)] == 0)
        arrow::bit_util::ClearBit(valid, first + i);
      else if (left == 0)
        return arrow::Status::Invalid("column '", reader_->descr()->name(), "' has too few values");
      to[i] = levels_[static_cast<size_t>(i)] == 0 ? value{} : to[--left];
    }
    return arrow::Status::OK();
  }

  const std::shared_ptr<arrow::DataType> type_;
  counting_pool& pool_;
  bool page_is_full_;  // each of its rows has a value
  std::shared_ptr<parquet::TypedColumnReader<Stored>> reader_;
  std::array<int16_t, most_levels> levels_;  // of each row that was just read: whether it has a value
};

}  // namespace

bool is_flat(const parquet::ColumnDescriptor& column, const arrow::DataType& type) {
  using arrow::Type;
  if (column.max_repetition_level() > 0 || column.max_definition_level() > 1) return false;
  switch (type.id()) {
    case Type::INT32:
    case Type::UINT32:
    case Type::DATE32:
    case Type::TIME32: return column.physical_type() == parquet::Type::INT32;
    case Type::INT64:
    case Type::UINT64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION: return column.physical_type() == parquet::Type::INT64;
    case Type::FLOAT: return column.physical_type() == parquet::Type::FLOAT;
    case Type::DOUBLE: return column.physical_type() == parquet::Type::DOUBLE;
    default: return false;
  }
}

std::unique_ptr<flat_column> open_flat_column(const parquet::ColumnDescriptor& column,
                                              std::unique_ptr<parquet::PageReader> pages,
                                              std::shared_ptr<arrow::DataType> type, counting_pool& pool) {
  const auto open = [&]<class Stored>(Stored) -> std::unique_ptr<flat_column> {
    return std::make_unique<typed_column<Stored>>(column, std::move(pages), std::move(type), pool);
  };
  switch (column.physical_type()) {
    case parquet::Type::INT32: return open(parquet::Int32Type());
    case parquet::Type::INT64: return open(parquet::Int64Type());
    case parquet::Type::FLOAT: return open(parquet::FloatType());
    default: return open(parquet::DoubleType());
  }
}

}  // namespace columnar
