#include "snappy_pages.h"

#include <arrow/buffer.h>
#include <parquet/column_page.h>
#include <parquet/exception.h>
#include <snappy.h>

#include <cstring>
#include <utility>

namespace columnar {

namespace {

using parquet::Page;
using parquet::PageType;

class snappy_pages final : public parquet::PageReader {
 public:
  // No page of the chunk is larger than `most_bytes` when it is unpacked.
  snappy_pages(std::unique_ptr<parquet::PageReader> stored, int64_t most_bytes, counting_pool& pool)
      : stored_(std::move(stored)), most_bytes_(most_bytes), pool_(pool) {}

  std::shared_ptr<Page> NextPage() override {
    const std::shared_ptr<Page> page = stored_->NextPage();
    if (page == nullptr) return page;
    switch (page->type()) {
      case PageType::DICTIONARY_PAGE: return unpacked(static_cast<const parquet::DictionaryPage&>(*page));
      case PageType::DATA_PAGE: return unpacked(static_cast<const parquet::DataPageV1&>(*page));
      case PageType::DATA_PAGE_V2: return unpacked(page, static_cast<const parquet::DataPageV2&>(*page));
      default: return page;
    }
  }
  void set_max_page_header_size(uint32_t size) override { stored_->set_max_page_header_size(size); }

 private:
  std::shared_ptr<Page> unpacked(const parquet::DictionaryPage& page) {
    return std::make_shared<parquet::DictionaryPage>(unpack(page, 0), page.num_values(), page.encoding(),
                                                     page.is_sorted());
  }
  std::shared_ptr<Page> unpacked(const parquet::DataPageV1& page) {
    return std::make_shared<parquet::DataPageV1>(unpack(page, 0, page.uncompressed_size()), page.num_values(),
                                                 page.encoding(), page.definition_level_encoding(),
                                                 page.repetition_level_encoding(), page.uncompressed_size());
  }
  // The levels of such a page aren't packed.
  std::shared_ptr<Page> unpacked(const std::shared_ptr<Page>& same, const parquet::DataPageV2& page) {
    const int64_t repetition = page.repetition_levels_byte_length();
    const int64_t definition = page.definition_levels_byte_length();
    if (!page.is_compressed()) return same;
    if (repetition < 0 || definition < 0 || repetition + definition > page.size()) damaged();
    return std::make_shared<parquet::DataPageV2>(unpack(page, repetition + definition, page.uncompressed_size()),
                                                 page.num_values(), page.num_nulls(), page.num_rows(), page.encoding(),
                                                 static_cast<int32_t>(definition), static_cast<int32_t>(repetition),
                                                 page.uncompressed_size());
  }

  // The page with all that lies behind its first `plain` bytes unpacked; valid until the next page. `size`: of the
  // whole, where its header tells.
  std::shared_ptr<arrow::Buffer> unpack(const Page& page, int64_t plain, int64_t size = -1) {
    const char* const packed = reinterpret_cast<const char*>(page.data()) + plain;
    const auto packed_bytes = static_cast<size_t>(page.size() - plain);
    size_t more = 0;  // (A page without values may have nothing that is packed.)
    if (packed_bytes > 0 && !snappy::GetUncompressedLength(packed, packed_bytes, &more)) damaged();
    if (more > static_cast<uint64_t>(most_bytes_)) damaged();
    const int64_t all = plain + static_cast<int64_t>(more);
    if (size >= 0 && size != all) damaged();
    if (!room_ || room_->size() < all) {
      room_.reset();
      PARQUET_ASSIGN_OR_THROW(room_, arrow::AllocateResizableBuffer(all, &pool_));
    }
    std::memcpy(room_->mutable_data(), page.data(), static_cast<size_t>(plain));
    if (more > 0 &&
        !snappy::RawUncompress(packed, packed_bytes, reinterpret_cast<char*>(room_->mutable_data()) + plain))
      damaged();
    return arrow::SliceBuffer(room_, 0, all);
  }

  [[noreturn]] static void damaged() { throw parquet::ParquetException("a page that Snappy has packed is damaged"); }

  const std::unique_ptr<parquet::PageReader> stored_;
  const int64_t most_bytes_;
  counting_pool& pool_;
  std::shared_ptr<arrow::ResizableBuffer> room_;  // of the page that was taken last
};

}  // namespace

arrow::io::ReadRange stored_range(const parquet::ColumnChunkMetaData& chunk) {
  const bool has_dictionary = chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0 &&
                              chunk.dictionary_page_offset() < chunk.data_page_offset();
  return {has_dictionary ? chunk.dictionary_page_offset() : chunk.data_page_offset(), chunk.total_compressed_size()};
}

std::unique_ptr<parquet::PageReader> open_snappy_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                       const parquet::FileMetaData& metadata, int row_group, int column,
                                                       parquet::ReaderProperties how, counting_pool& pool) {
  using parquet::ApplicationVersion;
  const std::unique_ptr<parquet::RowGroupMetaData> group = metadata.RowGroup(row_group);
  const std::unique_ptr<parquet::ColumnChunkMetaData> chunk = group->ColumnChunk(column);
  const ApplicationVersion& writer = metadata.writer_version();
  if (chunk->compression() != parquet::Compression::SNAPPY || chunk->crypto_metadata() != nullptr ||
      writer.VersionLt(ApplicationVersion::PARQUET_816_FIXED_VERSION()) ||
      writer.VersionLt(ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION()))
    return nullptr;
  const arrow::io::ReadRange range = stored_range(*chunk);
  PARQUET_ASSIGN_OR_THROW(const int64_t file_bytes, file->GetSize());
  if (range.offset < 0 || range.length < 0 || range.offset > file_bytes || range.length > file_bytes - range.offset)
    throw parquet::ParquetException("a column chunk lies behind the end of the file");
  std::unique_ptr<parquet::PageReader> stored =
      parquet::PageReader::Open(how.GetStream(file, range.offset, range.length), chunk->num_values(),
                                parquet::Compression::UNCOMPRESSED, how, *metadata.schema()->Column(column));
  return std::make_unique<snappy_pages>(std::move(stored), chunk->total_uncompressed_size(), pool);
}

}  // namespace columnar
