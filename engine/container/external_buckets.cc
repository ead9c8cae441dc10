#include "engine/container/external_buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/buffer.h"
#include "engine/base/error.h"
#include "engine/block/buffered_writer.h"
#include "engine/block/stream_disks.h"
#include "engine/container/row_page.h"
#include "engine/kernels/wide_rows.h"
#include "engine/sizes/container_block.h"

namespace flowrun::container {

namespace {

constexpr uint32_t smallest_block = 4 * KiB;
constexpr uint32_t largest_block = 256 * KiB;

}  // namespace

struct external_buckets::core {
  struct bucket {
    row_page page;
    std::shared_ptr<std::byte[]> memory;  // of the page
    std::vector<row_piece> pieces;
  };
  // A block on its way to a disk.
  struct written {
    uint32_t bucket;
    size_t piece;
  };

  core(const record::row_type& type, block::block_manager& manager, record::batch_pool& pool, const settings& how)
      : blocks(manager),
        stored(std::make_shared<stored_rows>(type, manager, pool)),
        rows(type, {}),
        memory_bytes(how.memory_bytes),
        block_bytes(block_length(how)),
        buckets(how.num_buckets, bucket{row_page(rows), nullptr, {}}) {}

  ~core() {
    if (writer) {
      try {
        writer->flush();
      } catch (const std::exception&) {
        // The caller who filled the buckets was told of it before.
      }
      settle();
    }
    for (const bucket& b : buckets)
      for (const row_piece& p : b.pieces)
        if (!p.in_memory()) blocks.free(p.stored.id);
  }

  [[noreturn]] static void too_long(size_t row_bytes) {
    throw error(error_kind::bad_data, fmt::format("a row of {} is too long to be stored", format_bytes(row_bytes)),
                "split it into several rows");
  }

  size_t page_bytes() const { return block_bytes - block::block_header_bytes; }

  // Where the written blocks lie is final once they are on the disks.
  void settle() {
    for (size_t i = 0; i < on_their_way.size(); ++i)
      buckets[on_their_way[i].bucket].pieces[on_their_way[i].piece].stored.id = writer->result(i);
    on_their_way.clear();
  }

  outcome flush(waker& w) {
    if (!writer) return outcome::done();
    if (const outcome o = writer->try_flush(&w); o.is_blocked()) return o;
    settle();
    writer->forget_results();
    return outcome::done();
  }

  unsigned num_write_buffers(uint64_t length) const {
    return sizes::write_buffers_within(memory_bytes / 8, length, blocks.num_disks(), blocks.queue_depth());
  }

  // A buffer for a block with a payload of `num_bytes`; null: blocked.
  std::byte* buffer_for(size_t num_bytes, waker& w) {
    const size_t needed = round_up(num_bytes + block::block_header_bytes, io_alignment);
    if (needed > sizes::longest_stored_block) too_long(num_bytes);
    if (writer && writer->block_bytes() < needed) {
      if (flush(w).is_blocked()) return nullptr;
      writer.reset();
    }
    if (!writer) {
      const size_t length = std::max<size_t>(needed, block_bytes);
      writer.emplace(blocks, static_cast<uint32_t>(length), num_write_buffers(length));
      if (!disks) {
        stream = blocks.next_stream_id();
        disks.emplace(blocks, stream);
      }
    }
    return writer->try_acquire(&w);
  }

  row_piece piece_of(const row_page& page) const {
    row_piece p;
    p.num_rows = page.num_rows();
    p.num_bytes = uint64_t{page.rows_bytes()} + page.heap_bytes();
    return p;
  }

  // The page's rows become a piece on scratch; its memory can be used again.
  outcome write(uint32_t number, waker& w) {
    bucket& b = buckets[number];
    // Strings lie at the end of the page, and are referred to from its front.
    const size_t payload = rows.has_strings() ? b.page.capacity() : b.page.rows_bytes();
    std::byte* buffer = buffer_for(payload, w);
    if (buffer == nullptr) return outcome::blocked();
    std::memcpy(block::payload_of(buffer), b.page.first_row(), payload);
    row_piece p = piece_of(b.page);
    p.stored.stream = stream;
    p.stored.index = num_written;
    block::block_header header;
    header.stream = stream;
    header.index = num_written++;
    header.num_rows = b.page.num_rows();
    header.rows_bytes = b.page.rows_bytes();
    header.heap_bytes = b.page.heap_bytes();
    const auto num_bytes = static_cast<uint32_t>(round_up(payload + block::block_header_bytes, io_alignment));
    on_their_way.push_back({number, b.pieces.size()});
    b.pieces.push_back(std::move(p));
    try {
      writer->submit(buffer, disks->next(), header, num_bytes);
    } catch (...) {
      on_their_way.pop_back();
      throw;
    }
    spilled += num_bytes;
    return outcome::ready();
  }

  // A full page stays as it is while there is memory, or goes to scratch.
  outcome put_away(uint32_t number, waker& w) {
    bucket& b = buckets[number];
    if (held + b.page.capacity() <= memory_bytes / 2) {
      held += b.page.capacity();
      row_piece p = piece_of(b.page);
      p.rows = b.page.rows(std::exchange(b.memory, nullptr));
      b.pieces.push_back(std::move(p));
    } else if (const outcome o = write(number, w); o.is_blocked()) {
      return o;
    }
    if (b.page.capacity() != page_bytes()) b.memory = nullptr;
    b.page.close();
    return outcome::ready();
  }

  outcome push(uint32_t number, const std::byte* row, const std::byte* heap, waker& w) {
    if (longer_page) {
      if (const outcome o = put_away(*longer_page, w); o.is_blocked()) return o;
      longer_page.reset();
    }
    bucket& b = buckets[number];
    while (!b.page.is_open() || !b.page.append_row(row, heap)) {
      if (b.page.is_open())
        if (const outcome o = put_away(number, w); o.is_blocked()) return o;
      open_page(b, rows.row_bytes() + rows.heap_bytes(row));
    }
    if (b.page.capacity() > page_bytes()) longer_page = number;
    return outcome::ready();
  }

  // At least for one row of `row_bytes`. A page of the usual length is used again and again.
  void open_page(bucket& b, size_t row_bytes) {
    const size_t capacity = std::max(page_bytes(), row_bytes);
    if (capacity > sizes::longest_stored_block) too_long(row_bytes);
    if (capacity > page_bytes()) b.memory = nullptr;
    if (b.memory == nullptr) b.memory = stored->pool.take(capacity);
    b.page.open(b.memory.get(), capacity);
  }

  // What is in a page at the end, in a piece of memory of its own length, or on scratch.
  outcome close_page(uint32_t number, waker& w) {
    bucket& b = buckets[number];
    if (!b.page.is_open()) return outcome::ready();
    const size_t capacity = size_t{b.page.rows_bytes()} + b.page.heap_bytes();
    const uint64_t takes = std::bit_ceil(std::max<uint64_t>(capacity, 64));
    if (held + takes <= memory_bytes / 8 * 7) {
      held += takes;
      std::shared_ptr<std::byte[]> memory = stored->pool.take(capacity);
      row_page cut(rows);
      cut.open(memory.get(), capacity);
      record::batch all = b.page.rows(nullptr);
      cut.append(all);
      row_piece p = piece_of(cut);
      p.rows = cut.rows(std::move(memory));
      b.pieces.push_back(std::move(p));
    } else if (const outcome o = write(number, w); o.is_blocked()) {
      return o;
    }
    b.page.close();
    b.memory = nullptr;
    return outcome::ready();
  }

  outcome finish(waker& w) {
    for (; next_to_close < buckets.size(); ++next_to_close)
      if (const outcome o = close_page(next_to_close, w); o.is_blocked()) return o;
    if (const outcome o = flush(w); o.is_blocked()) return o;
    writer.reset();
    for (bucket& b : buckets) {
      std::move(b.pieces.begin(), b.pieces.end(), std::back_inserter(stored->pieces));
      b.pieces.clear();
    }
    stored->count();
    finished = true;
    return outcome::done();
  }

  block::block_manager& blocks;
  const std::shared_ptr<stored_rows> stored;
  const kernels::wide_rows rows;
  const uint64_t memory_bytes;
  const uint32_t block_bytes;
  std::vector<bucket> buckets;
  uint64_t held = 0;  // by full pages that stay
  // The bucket whose page is longer than others, for one row. It goes before the next row comes, so that there is one
  // at most, whatever the number of buckets.
  std::optional<uint32_t> longer_page;
  std::optional<block::buffered_writer> writer;
  std::optional<block::stream_disks> disks;
  uint64_t stream = 0;
  uint64_t num_written = 0;
  std::vector<written> on_their_way;  // by ticket
  uint64_t spilled = 0;
  uint32_t next_to_close = 0;  // bucket, in finish()
  bool finished = false;
};

external_buckets::external_buckets(const record::row_type& type, block::block_manager& blocks, record::batch_pool& pool,
                                   settings how)
    : core_(std::make_unique<core>(type, blocks, pool, how)) {}

external_buckets::~external_buckets() = default;

uint32_t external_buckets::block_length(const settings& how) {
  const uint64_t share = how.memory_bytes / 8 * 3 / std::max(1U, how.num_buckets);
  const uint64_t most = how.block_bytes > 0 ? how.block_bytes : largest_block;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(std::bit_floor(std::max<uint64_t>(share, 1)), smallest_block, most));
}

uint64_t external_buckets::least_memory(uint32_t num_buckets, uint64_t row_bytes) {
  return std::max<uint64_t>(smallest_block, row_bytes) * num_buckets / 3 * 8 + 64 * KiB;
}

uint64_t external_buckets::written_pages(uint64_t num_bytes, uint64_t row_bytes, const settings& how) {
  const uint64_t row = std::max<uint64_t>(row_bytes, 1);
  const uint64_t usual = block_length(how) - block::block_header_bytes, page = std::max(usual, row);
  const uint64_t full = page / row * row;
  const uint64_t last = row > usual ? how.num_buckets : 0;  // pages, which have a length of their own
  const uint64_t num_pages = num_bytes / full + last, stay = how.memory_bytes / 2 / page;
  return (num_pages - std::min(num_pages, stay)) * round_up(full + block::block_header_bytes, io_alignment);
}

outcome external_buckets::push(uint32_t bucket, const std::byte* row, const std::byte* heap, waker& w) {
  return core_->push(bucket, row, heap, w);
}

outcome external_buckets::finish(waker& w) { return core_->finished ? outcome::done() : core_->finish(w); }

std::shared_ptr<const stored_rows> external_buckets::rows() const {
  FLOWRUN_CHECK(core_->finished);
  return core_->stored;
}

uint64_t external_buckets::spilled_bytes() const { return core_->spilled; }

}  // namespace flowrun::container
