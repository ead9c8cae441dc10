#include "operators/parts/order/permute_in_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "engine/container/stored_rows.h"
#include "engine/exec/parcel.h"
#include "operators/parts/order/stored_source.h"
#include "operators/parts/rules/column_copy.h"

namespace flowrun::operators {

namespace {

constexpr uint64_t largest_block = MiB;
constexpr uint64_t smallest_block = 2 * KiB;  // of rows
constexpr unsigned num_write_buffers = 4;

// What the intake leaves when all rows fit in memory: the rows in the order of the input.
struct gathered {
  std::shared_ptr<const aligned_buffer> rows;
  uint32_t row_bytes;
  bit_matrix from;  // place -> row
};
// What the intake leaves when they don't fit.
struct scattered {
  std::shared_ptr<const container::stored_rows> rows;
};

// The bytes of a block on scratch.
uint64_t bytes_of_block(const block_shape& shape, uint32_t row_bytes) {
  return round_up((uint64_t{row_bytes} << shape.block) + block::block_header_bytes, io_alignment);
}

// Copies the rows of `count` places, from the place `first` on, to `to`. `loaded` holds row x at x & mask.
void gather(const bit_matrix& from, uint64_t first, size_t count, const std::byte* loaded, uint64_t mask,
            uint32_t row_bytes, std::byte* to) {
  constexpr size_t ahead = 16;  // rows that are on their way from memory
  bit_matrix_walk coming(from, first);
  bit_matrix_walk walk(from, first);
  for (size_t i = 0; i < std::min(ahead, count); ++i) __builtin_prefetch(loaded + (coming.take() & mask) * row_bytes);
  for (size_t i = 0; i < count; ++i, to += row_bytes) {
    if (i + ahead < count) __builtin_prefetch(loaded + (coming.take() & mask) * row_bytes);
    copy_bytes(to, loaded + (walk.take() & mask) * row_bytes, row_bytes);
  }
}

// Takes one memoryload after the other.
class loading_stage : public exec::ordered_stage {
 public:
  loading_stage(const bit_matrix& matrix, unsigned load_bits, exec::build_context& c)
      : matrix_(matrix),
        row_bytes_(c.input_type().row_bytes()),
        load_rows_(uint64_t{1} << load_bits),
        load_(std::make_shared<aligned_buffer>(load_rows_ * row_bytes_)),
        job_(c.job),
        state_(c.state),
        counters_(c.counters),
        node_(c.node.id) {}

  outcome push(record::batch& in, exec::output&, waker& w) override {
    if (in.num_rows > num_places() - num_rows_)
      throw wrong_number_of_rows(node_, fmt::format("{} or more", num_rows_ + in.num_rows), matrix_.num_bits());
    while (in.num_rows > 0) {
      if (loaded_ == load_rows_)
        if (const outcome o = unload(w); o.is_blocked()) return o;
      const size_t count = std::min<uint64_t>(in.num_rows, load_rows_ - loaded_);
      std::memcpy(load_->data() + loaded_ * row_bytes_, in.rows, count * row_bytes_);
      loaded_ += count;
      num_rows_ += count;
      in = in.slice(count, in.num_rows - count);
    }
    return outcome::ready();
  }
  outcome finish(exec::output&, waker& w) override {
    if (num_rows_ != num_places()) throw wrong_number_of_rows(node_, fmt::format("{}", num_rows_), matrix_.num_bits());
    return end(w);
  }

 protected:
  // ready: there is room for the next memoryload.
  virtual outcome unload(waker& w) = 0;
  // done: the rows are in state_.
  virtual outcome end(waker& w) = 0;

  uint64_t num_places() const { return uint64_t{1} << matrix_.num_bits(); }

  const bit_matrix matrix_;
  const uint32_t row_bytes_;
  const uint64_t load_rows_;
  std::shared_ptr<aligned_buffer> load_;
  uint64_t loaded_ = 0;    // rows of it
  uint64_t num_rows_ = 0;  // of the input so far
  exec::services& job_;
  std::any& state_;
  exec::node_counters& counters_;
  const std::string node_;
};

class memory_stage final : public loading_stage {
 public:
  using loading_stage::loading_stage;

 private:
  outcome unload(waker&) override { internal_error("a memoryload of all rows is full before the end"); }
  outcome end(waker&) override {
    state_ = gathered{std::move(load_), row_bytes_, matrix_.inverse()};
    return outcome::done();
  }
};

class scatter_stage final : public loading_stage {
 public:
  scatter_stage(const bit_matrix& matrix, const block_shape& shape, exec::build_context& c)
      : loading_stage(matrix, shape.memoryload, c),
        inverse_(matrix.inverse()),
        block_bits_(shape.block),
        block_rows_(uint64_t{1} << shape.block),
        targets_(shape.memoryload - shape.block),
        stored_(std::make_shared<container::stored_rows>(c.input_type(), c.job.blocks(), c.job.pool())),
        stream_(c.job.blocks().next_stream_id()),
        disks_(c.job.blocks(), stream_),
        writer_(c.job.blocks(), static_cast<uint32_t>(bytes_of_block(shape, row_bytes_)), num_write_buffers) {
    stored_->pieces.resize(num_places() >> block_bits_);
    find_basis(shape.memoryload);
  }
  ~scatter_stage() override {
    try {
      writer_.flush();
    } catch (const std::exception&) {
      // The pipeline that pushed the rows has already got this error.
    }
    settle();
  }

 private:
  // The blocks that a memoryload goes to: its first row's, plus any sum of these.
  void find_basis(unsigned load_bits) {
    bit_matrix some(matrix_.num_bits());
    unsigned num_found = 0;
    for (unsigned i = 0; i < load_bits; ++i) {
      some.set_column(num_found, matrix_.column(i));
      if (some.rank_of(block_bits_, num_found + 1) <= num_found) continue;
      targets_.set_column(num_found++, matrix_.column(i) >> block_bits_);
    }
    FLOWRUN_CHECK(num_found == targets_.num_bits());
  }

  outcome unload(waker& w) override {
    if (!target_) {
      targets_.set_complement(matrix_.apply(num_rows_ - load_rows_) >> block_bits_);
      target_.emplace(targets_, 0);
      ++counters_.runs;
    }
    for (; num_unloaded_ < load_rows_ >> block_bits_; ++num_unloaded_) {
      if (job_.cancelled()) throw error(error_kind::cancelled, "stopped before the end");
      std::byte* buffer = writer_.try_acquire(&w);
      if (buffer == nullptr) return outcome::blocked();
      write(target_->take(), buffer);
    }
    target_.reset();
    num_unloaded_ = 0;
    loaded_ = 0;
    return outcome::ready();
  }

  void write(uint64_t target, std::byte* buffer) {
    gather(inverse_, target << block_bits_, block_rows_, load_->data(), load_rows_ - 1, row_bytes_,
           block::payload_of(buffer));
    container::row_piece& piece = stored_->pieces[target];
    piece.num_rows = static_cast<uint32_t>(block_rows_);
    piece.num_bytes = block_rows_ * row_bytes_;
    piece.stored.stream = stream_;
    piece.stored.index = target;
    block::block_header header;
    header.stream = stream_;
    header.index = target;
    header.num_rows = piece.num_rows;
    header.rows_bytes = static_cast<uint32_t>(piece.num_bytes);
    written_.push_back(target);
    writer_.submit(buffer, disks_.next(), header);
    counters_.run_bytes += writer_.block_bytes();
    counters_.stored_run_bytes += writer_.block_bytes();
  }

  outcome end(waker& w) override {
    if (loaded_ > 0)
      if (const outcome o = unload(w); o.is_blocked()) return o;
    if (const outcome o = writer_.try_flush(&w); o.is_blocked()) return o;
    settle();
    stored_->count();
    counters_.merge_passes = 1;
    counters_.fan_in = counters_.runs.load();
    state_ = scattered{std::move(stored_)};
    return outcome::done();
  }

  // Where the blocks lie is final once they are written.
  void settle() {
    for (size_t i = 0; i < written_.size() && i < writer_.num_submitted(); ++i)
      stored_->pieces[written_[i]].stored.id = writer_.result(i);
    written_.clear();
  }

  const bit_matrix inverse_;
  const unsigned block_bits_;
  const uint64_t block_rows_;
  bit_matrix targets_;
  std::shared_ptr<container::stored_rows> stored_;
  const uint64_t stream_;
  block::stream_disks disks_;
  block::buffered_writer writer_;
  std::vector<uint64_t> written_;          // block of the target, by ticket
  std::optional<bit_matrix_walk> target_;  // while a memoryload is written
  uint64_t num_unloaded_ = 0;              // blocks of it
};

// Places whose rows are to be gathered.
struct place_range {
  std::shared_ptr<const aligned_buffer> rows;
  uint64_t first = 0;
  uint64_t num_rows = 0;
};

// Hands out ranges of places, for all threads to gather.
class range_source final : public exec::source {
 public:
  range_source(gathered rows, size_t batch_rows) : rows_(std::move(rows)), batch_rows_(batch_rows) {}
  outcome pull(exec::output& out, waker&) override {
    const uint64_t end = uint64_t{1} << rows_.from.num_bits();
    if (next_ == end) return outcome::done();
    const uint64_t num_rows = std::min<uint64_t>(batch_rows_, end - next_);
    out.emit(exec::make_parcel(place_range{rows_.rows, next_, num_rows}, num_rows, num_rows * rows_.row_bytes));
    next_ += num_rows;
    return outcome::ready();
  }

 private:
  gathered rows_;
  const size_t batch_rows_;
  uint64_t next_ = 0;
};

class gather_stage final : public exec::parcel_stage<place_range> {
 public:
  gather_stage(bit_matrix from, uint32_t row_bytes, record::batch_pool& pool)
      : from_(std::move(from)), row_bytes_(row_bytes), pool_(pool) {}
  void open(const place_range& range, exec::output& out) const override {
    std::shared_ptr<std::byte[]> rows = pool_.take(range.num_rows * row_bytes_);
    gather(from_, range.first, range.num_rows, range.rows->data(), UINT64_MAX, row_bytes_, rows.get());
    record::batch b;
    b.rows = rows.get();
    b.num_rows = range.num_rows;
    b.row_bytes = row_bytes_;
    b.first_row = range.first;
    b.owner = std::move(rows);
    out.emit(std::move(b));
  }

 private:
  const bit_matrix from_;
  const uint32_t row_bytes_;
  record::batch_pool& pool_;
};

}  // namespace

std::optional<block_shape> whole_blocks(const bit_matrix& matrix, uint32_t row_bytes, uint64_t memory_bytes,
                                        uint64_t block_bytes) {
  const uint64_t longest =
      std::min(block_bytes > 0 ? block_bytes : largest_block, memory_bytes / 8 / num_write_buffers);
  const uint64_t load_rows = memory_bytes / 4 * 3 / row_bytes;
  if (load_rows == 0 || longest <= block::block_header_bytes) return std::nullopt;
  const auto load = std::min(matrix.num_bits(), static_cast<unsigned>(std::bit_width(load_rows) - 1));
  const uint64_t most_rows = (longest - block::block_header_bytes) / row_bytes;
  if (most_rows == 0) return std::nullopt;
  for (unsigned b = std::min(load, static_cast<unsigned>(std::bit_width(most_rows) - 1));
       (row_bytes << b) >= smallest_block; --b) {
    if (matrix.rank_of(b, load) == load - b) return block_shape{load, b};
    if (b == 0) break;
  }
  return std::nullopt;
}

std::optional<block_placement> placement_of(const bit_matrix& matrix, const record::row_type& type,
                                            uint64_t memory_bytes, uint64_t kept_bytes, uint64_t block_bytes) {
  if (type.has_strings()) return std::nullopt;
  if (matrix.num_bits() < 40 && (uint64_t{type.row_bytes()} << matrix.num_bits()) <= kept_bytes)
    return block_placement{true, {}};
  const std::optional<block_shape> shape = whole_blocks(matrix, type.row_bytes(), memory_bytes, block_bytes);
  if (!shape || matrix.num_bits() - shape->block >= 40) return std::nullopt;
  // Where each block lies is kept in memory.
  const uint64_t most_blocks = memory_bytes / 8 / sizeof(container::row_piece);
  if (uint64_t{1} << (matrix.num_bits() - shape->block) > most_blocks) return std::nullopt;
  return block_placement{false, *shape};
}

plan::stored_pass_rule placement_rule(const bit_matrix& matrix, const record::row_type& type) {
  return
      [matrix, type](const plan::row_estimate&, const plan::pass_memory& memory) -> std::optional<plan::stored_pass> {
        const auto how = placement_of(matrix, type, memory.given_bytes, memory.kept_bytes, memory.block_bytes);
        if (!how) return std::nullopt;
        plan::stored_pass out;
        out.rows = uint64_t{1} << matrix.num_bits();
        out.num_bytes = out.rows * type.row_bytes();
        if (how->in_memory) return out;
        out.loads = out.rows >> how->shape.memoryload;
        out.block_bytes = bytes_of_block(how->shape, type.row_bytes());
        out.written_bytes = (out.rows >> how->shape.block) * out.block_bytes;
        return out;
      };
}

void add_permuting_in_blocks(exec::assembly& to, exec::build_context& c, const bit_matrix& matrix) {
  const exec::job_options& options = c.job.options();
  const auto how =
      placement_of(matrix, c.input_type(), c.memory_bytes, options.force_spill ? 0 : c.kept_bytes, options.block_bytes);
  if (!how) return;
  if (how->in_memory)
    to.stages.emplace_back(std::make_unique<memory_stage>(matrix, matrix.num_bits(), c));
  else
    to.stages.emplace_back(std::make_unique<scatter_stage>(matrix, how->shape, c));
}

void add_reading_of_blocks(exec::assembly& to, exec::build_context& c) {
  if (const auto* rows = std::any_cast<gathered>(&c.state)) {
    const size_t batch_rows = record::shape_for(c.input_type(), c.batches.target_bytes).max_rows;
    to.stages.emplace_back(std::make_unique<gather_stage>(rows->from, rows->row_bytes, c.job.pool()));
    to.head = std::make_unique<range_source>(*rows, batch_rows);
    c.state.reset();
  } else if (const auto* blocks = std::any_cast<scattered>(&c.state)) {
    to.head = make_stored_source(std::make_unique<container::stored_reader>(
        blocks->rows, c.memory_bytes, container::direction::forward, c.batches.target_bytes));
    c.state.reset();
  }
}

error wrong_number_of_rows(const std::string& node, const std::string& rows, unsigned num_bits) {
  return error(error_kind::bad_data,
               fmt::format("node '{}': the input has {} rows, but {} bits make {} places", node, rows, num_bits,
                           uint64_t{1} << num_bits),
               "give it as many rows as the bits can count");
}

}  // namespace flowrun::operators
