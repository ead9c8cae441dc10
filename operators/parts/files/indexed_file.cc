#include "operators/parts/files/indexed_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/io/file_reader.h"
#include "operators/parts/files/boolean_bytes.h"
#include "operators/parts/files/row_index.h"

namespace flowrun::operators {

namespace {

constexpr unsigned most_reads = 4;  // at a time

// The index is read once, even where a loop seeks in the file again and again. If the file is changed meanwhile, the
// checksums of the blocks show it.
std::shared_ptr<const row_index> index_of(exec::build_context& c, const std::string& path, const record::row_type& type,
                                          const plan::order& sorted_by, uint64_t most_bytes) {
  const auto load = [&] {
    auto index = std::make_shared<const row_index>(row_index::load(path, type, sorted_by, most_bytes));
    c.counters.file_read_bytes += index->num_bytes();
    return index;
  };
  auto index = std::static_pointer_cast<const row_index>(c.job.kept(c.node.id + ".index", load));
  return index->num_bytes() <= most_bytes ? index : load();  // which says so
}

class indexed_file final : public skipping_stream {
 public:
  indexed_file(exec::build_context& c, std::string path, const record::row_type& type, const plan::order& sorted_by,
               uint64_t memory_bytes)
      : job_(c.job),
        counters_(c.counters),
        path_(std::move(path)),
        row_bytes_(type.row_bytes()),
        booleans_(type),
        index_of_file_(index_of(c, path_, type, sorted_by, memory_bytes / 2)),
        index_(*index_of_file_),
        block_bytes_(uint64_t{index_.rows_per_block()} * row_bytes_) {
    const uint64_t buffers = memory_bytes / 2 / block_bytes_;
    options_.chunk_bytes = block_bytes_;
    options_.depth = static_cast<unsigned>(std::clamp<uint64_t>(buffers, 2, most_reads + 1)) - 1;
    options_.max_held = 1;  // rows are copied, so that a consumer that keeps them can't stop the reader
    options_.ahead_at_once = false;
    if (!c.job.options().direct) options_.cache = io::caching::buffered;
  }

  outcome peek(const record::batch*& front, waker& w) override {
    while (front_.num_rows == 0) {
      if (wanted_ == index_.num_blocks()) return outcome::done();
      if (reader_ == nullptr) open();
      io::chunk chunk;
      const outcome o = reader_->next(chunk, &w);
      if (o.is_blocked()) return o;
      if (o.is_done()) throw not_of_index(wanted_);
      take(chunk);
    }
    seeking_.reset();
    front = &front_;
    return outcome::ready();
  }

  void pop() override { front_ = {}; }

  void seek(const record::row_comparator& order, const std::byte* row, const std::byte* heap) override {
    seeking_ = sought{&order, row, heap};
    drop_before(front_);
    if (front_.num_rows > 0) return;
    // Rows of the same key may lie at the end of the block before the first one that begins with it.
    uint64_t low = wanted_, high = index_.num_blocks();
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (order.compare(row, heap, index_.first_row(middle), nullptr) > 0)
        low = middle + 1;
      else
        high = middle;
    }
    if (low <= wanted_ + 1) return;
    wanted_ = low - 1;
    if (reader_ != nullptr) reader_->skip_to(wanted_ * block_bytes_);
  }

 private:
  struct sought {
    const record::row_comparator* order;
    const std::byte* row;
    const std::byte* heap;
  };

  // From the block that is wanted first.
  void open() {
    reader_ = std::make_unique<io::file_reader>(job_.backend(), path_, options_, wanted_ * block_bytes_,
                                                index_.num_rows() * row_bytes_);
  }

  void take(const io::chunk& chunk) {
    counters_.file_read_bytes += chunk.num_bytes;
    const uint64_t block = wanted_;
    if (!index_.is_block(block, {chunk.data, chunk.num_bytes})) throw not_of_index(block);
    std::shared_ptr<std::byte[]> rows = job_.pool().take(chunk.num_bytes);
    std::memcpy(rows.get(), chunk.data, chunk.num_bytes);
    front_.rows = rows.get();
    front_.num_rows = chunk.num_bytes / row_bytes_;
    front_.row_bytes = row_bytes_;
    front_.first_row = block * index_.rows_per_block();
    front_.owner = std::move(rows);
    booleans_.check(front_, path_, front_.first_row);
    ++wanted_;
    drop_before(front_);
  }

  error not_of_index(uint64_t block) const {
    return error(error_kind::bad_data,
                 fmt::format("{}: the rows from number {} on are not those that {} was made of", path_,
                             block * index_.rows_per_block(), index_path(path_)),
                 "the file has changed or is damaged: write it anew with index: true");
  }

  // Rows that come before what is sought.
  void drop_before(record::batch& rows) const {
    if (!seeking_) return;
    size_t low = 0, high = rows.num_rows;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (seeking_->order->compare(seeking_->row, seeking_->heap, rows.row(middle), nullptr) > 0)
        low = middle + 1;
      else
        high = middle;
    }
    rows = rows.slice(low, rows.num_rows - low);
  }

  exec::services& job_;
  exec::node_counters& counters_;
  const std::string path_;
  const uint32_t row_bytes_;
  const boolean_bytes booleans_;
  const std::shared_ptr<const row_index> index_of_file_;
  const row_index& index_;
  const uint64_t block_bytes_;
  io::file_reader_options options_;
  std::unique_ptr<io::file_reader> reader_;
  uint64_t wanted_ = 0;  // the reader's next block
  record::batch front_;
  std::optional<sought> seeking_;
};

}  // namespace

std::unique_ptr<skipping_stream> open_indexed_file(exec::build_context& c, const std::string& path, size_t input,
                                                   uint64_t memory_bytes) {
  return std::make_unique<indexed_file>(c, path, c.input_type(input), c.input_order(input), memory_bytes);
}

}  // namespace flowrun::operators
