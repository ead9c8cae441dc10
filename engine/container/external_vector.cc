#include "engine/container/external_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/container/row_page.h"
#include "engine/kernels/wide_rows.h"
#include "engine/runs/run_writer.h"
#include "engine/sizes/container_block.h"

namespace flowrun::container {

struct external_vector::core {
  core(const record::row_type& type, block::block_manager& manager, record::batch_pool& pool, settings&& how)
      : blocks(manager),
        stored(std::make_shared<stored_rows>(type, manager, pool)),
        rows(type, how.index_by),
        memory_bytes(how.memory_bytes),
        keeps_read(how.keep_read && !how.index_by.empty()),
        blocks_grow(keeps_read && how.block_bytes == 0),
        kept_bytes(std::min(how.kept_bytes, how.memory_bytes)),
        block_bytes(sizes::container_block(type.row_bytes(), how.block_bytes > 0
                                                                 ? sizes::asked_block(how.block_bytes, how.memory_bytes)
                                                             : keeps_read ? sizes::choose_sought_block(how.memory_bytes)
                                                                          : sizes::choose_block(how.memory_bytes))),
        most_key_bytes(how.key_bytes > 0 ? how.key_bytes : sizes::keys_of_vector(how.memory_bytes)),
        page(rows) {
    stored->index = std::move(how.index_by);
    stored->key_begin = rows.key_begin();
    if (!stored->index.empty()) order.emplace(type, stored->index);
  }

  unsigned num_write_buffers(uint64_t length) const {
    return sizes::vector_write_buffers(memory_bytes, length, blocks.num_disks(), blocks.queue_depth());
  }

  // --- the order of the index ---

  void check_order(const record::batch& b) const {
    for (size_t i = 0; i < b.num_rows; ++i) {
      const record::row_place before =
          i > 0 ? record::row_place{b.row(i - 1), b.heap} : rows.copied_key(last_key.data());
      if ((i == 0 && num_pushed == 0) || order->compare(before.row, before.heap, b.row(i), b.heap) <= 0) continue;
      throw error(error_kind::bad_data,
                  fmt::format("row {} of an indexed stream comes before row {} in the order of the index",
                              num_pushed + i, num_pushed + i - 1),
                  "is the file that it comes from sorted as it says? Sort the rows before they are stored");
    }
  }

  // `first` and `count`: the rows of a batch that were taken.
  void remember_last(const std::byte* first, size_t count, uint32_t row_bytes, const std::byte* heap) {
    num_pushed += count;
    if (order && count > 0) rows.copy_key(first + (count - 1) * row_bytes, heap, last_key);
  }

  // --- memory ---

  void store_in_memory(record::batch& b, uint64_t num_bytes) {
    while (b.num_rows > 0) {
      if (page.is_open() && page.append(b) > 0) continue;
      close_piece();
      const size_t longest = rows.row_bytes() + rows.heap_bytes(b.rows);
      const uint64_t wanted = std::clamp<uint64_t>(std::max(num_bytes, held), 64, sizes::largest_piece);
      const size_t capacity = std::bit_ceil(std::max<size_t>(longest, wanted));
      if (capacity > sizes::longest_stored_block) too_long(longest);
      page_memory = stored->pool.take(capacity);
      page.open(page_memory.get(), capacity);
      held += capacity;
    }
    used += num_bytes;
  }

  void close_piece() {
    if (!page.is_open()) return;
    row_piece p;
    p.rows = page.rows(std::exchange(page_memory, nullptr));
    add(std::move(p));
  }

  // The rows of the page become a piece.
  void add(row_piece p) {
    p.num_rows = page.num_rows();
    p.num_bytes = uint64_t{page.rows_bytes()} + page.heap_bytes();
    stored->pieces.push_back(std::move(p));
    page.close();
  }

  // --- scratch ---

  // The newest rows make room for the buffers.
  void begin_to_spill() {
    close_piece();
    spilling = true;
    const uint64_t stay =
        keeps_read ? 0 : sizes::rows_of_vector(memory_bytes, kept_bytes, block_bytes, num_write_buffers(block_bytes));
    std::vector<row_piece>& pieces = stored->pieces;
    while (!pieces.empty() && used > stay) {
      used -= pieces.back().num_bytes;
      moving.push_front(std::move(pieces.back().rows));
      pieces.pop_back();
    }
    held = 0;
    for (const row_piece& p : pieces) held += std::bit_ceil(p.num_bytes);
  }

  [[noreturn]] static void too_long(size_t row_bytes) {
    throw error(error_kind::bad_data, fmt::format("a row of {} is too long to be stored", format_bytes(row_bytes)),
                "split it into several rows");
  }

  void open_segment(size_t longest_row) {
    const uint64_t needed = sizes::block_for_row(longest_row, block_bytes);
    if (needed > sizes::longest_stored_block) too_long(longest_row);
    const unsigned num_buffers = num_write_buffers(needed);
    writer.emplace(blocks, static_cast<uint32_t>(needed), num_buffers);
    buffers_bytes = num_buffers * needed;
    writer->begin_run();
    segment_begin = stored->pieces.size();
  }

  // Of the page's first row. Returns where it lies.
  uint64_t add_key() {
    std::vector<std::byte>& keys = stored->first_keys;
    rows.copy_key(page.first_row(), page.first_row(), key);
    while (!keys.empty() && keys.size() + key.size() > most_key_bytes) forget_every_second_key();
    if (key.size() > most_key_bytes) {
      stored->has_all_keys = false;
      return row_piece::no_key;
    }
    if (keys.size() + key.size() > keys.capacity())
      keys.reserve(std::min(most_key_bytes, std::max(2 * keys.capacity(), keys.size() + key.size())));
    const uint64_t at = keys.size();
    keys.insert(keys.end(), key.begin(), key.end());
    return at;
  }

  void forget_every_second_key() {
    std::vector<std::byte>& keys = stored->first_keys;
    uint64_t end = 0, number = 0;
    row_piece* last = nullptr;
    // A key ends where the next one begins; they move to the front one after the other.
    const auto settle = [&](uint64_t key_end) {
      if (last == nullptr) return;
      const uint64_t begin = last->key_at;
      last->key_at = row_piece::no_key;
      if (number++ % 2 > 0) return;
      std::memmove(keys.data() + end, keys.data() + begin, key_end - begin);
      last->key_at = end;
      end += key_end - begin;
    };
    for (row_piece& p : stored->pieces) {
      if (p.in_memory() || p.key_at == row_piece::no_key) continue;
      settle(p.key_at);
      last = &p;
    }
    settle(keys.size());
    // The only key that is left makes room, too.
    if (number == 1) {
      last->key_at = row_piece::no_key;
      end = 0;
    }
    keys.resize(end);
    key_stride *= 2;
    stored->has_all_keys = false;
  }

  // Where the block lies is known when the segment is closed.
  void submit_block() {
    if (!page.is_open()) return;
    row_piece p;
    if (order && num_blocks++ % key_stride == 0) p.key_at = add_key();
    writer->submit(page.num_rows(), page.rows_bytes(), page.heap_bytes(), 0);
    spilled += writer->payload_bytes() + block::block_header_bytes;
    add(std::move(p));
  }

  bool is_time_to_grow() {
    if (!blocks_grow || 2 * uint64_t{block_bytes} > std::min<uint64_t>(MiB, memory_bytes / 16)) return false;
    if (stored->index_bytes() < memory_bytes / sizes::index_part_of_vector * (num_growths + 1)) return false;
    block_bytes *= 2;
    ++num_growths;
    return true;
  }

  // blocked: its last blocks are on their way.
  outcome close_segment(waker& w) {
    submit_block();
    closing = true;
    if (const outcome o = writer->flush(&w); o.is_blocked()) return o;
    closing = false;
    for (const runs::run& r : writer->take())
      for (size_t i = 0; i < r.blocks.size(); ++i)
        stored->pieces[segment_begin + i].stored = {r.blocks[i].id, r.stream, i, 0};
    writer.reset();
    return outcome::ready();
  }

  outcome spill(record::batch& b, waker& w) {
    if (closing)
      if (const outcome o = close_segment(w); o.is_blocked()) return o;
    while (b.num_rows > 0) {
      if (page.is_open() && page.append(b) > 0) continue;
      const size_t needed = rows.row_bytes() + rows.heap_bytes(b.rows);
      if (page.is_open() && page.num_rows() > 0) submit_block();
      if (writer && (needed > writer->payload_bytes() || is_time_to_grow()))
        if (const outcome o = close_segment(w); o.is_blocked()) return o;
      if (!writer) open_segment(needed);
      std::byte* payload = writer->payload(&w);
      if (payload == nullptr) return outcome::blocked();
      page.open(payload, writer->payload_bytes());
    }
    return outcome::ready();
  }

  outcome spill_moving(waker& w) {
    while (!moving.empty()) {
      if (const outcome o = spill(moving.front(), w); o.is_blocked()) return o;
      moving.pop_front();
    }
    return outcome::ready();
  }

  outcome push(record::batch& b, waker& w) {
    if (!spilling) {
      const uint64_t num_bytes = stored_bytes(rows, b);
      if (used + num_bytes <= kept_bytes) {
        store_in_memory(b, num_bytes);
        return outcome::ready();
      }
      begin_to_spill();
    }
    if (const outcome o = spill_moving(w); o.is_blocked()) return o;
    return spill(b, w);
  }

  outcome finish(waker& w) {
    if (const outcome o = spill_moving(w); o.is_blocked()) return o;
    if (writer)
      if (const outcome o = close_segment(w); o.is_blocked()) return o;
    close_piece();
    stored->count();
    if (!stored->on_scratch.empty()) {
      stored->pieces.shrink_to_fit();
      stored->first_keys.shrink_to_fit();
      if (keeps_read && memory_bytes > stored->index_bytes())
        stored->cache = std::make_unique<piece_cache>(memory_bytes - stored->index_bytes());
    }
    finished = true;
    return outcome::done();
  }

  block::block_manager& blocks;
  const std::shared_ptr<stored_rows> stored;
  const kernels::wide_rows rows;
  std::optional<record::row_comparator> order;
  const uint64_t memory_bytes;
  const bool keeps_read, blocks_grow;
  const uint64_t kept_bytes;
  uint32_t block_bytes;
  size_t num_growths = 0;  // how often it has doubled
  const uint64_t most_key_bytes;
  uint64_t num_blocks = 0;  // of which every key_stride-th has its key in the index
  uint64_t key_stride = 1;
  bool finished = false;

  uint64_t num_pushed = 0;
  std::vector<std::byte> last_key;  // of the row before
  std::vector<std::byte> key;

  row_page page;  // the piece that is being filled: in memory, or a buffer of the writer
  std::shared_ptr<std::byte[]> page_memory;
  uint64_t used = 0;  // bytes of rows in memory
  uint64_t held = 0;  // bytes of the buffers that these rows lie in

  bool spilling = false;
  std::deque<record::batch> moving;  // from memory to scratch
  std::optional<runs::run_writer> writer;
  bool closing = false;        // its last block is on its way: no more rows
  size_t segment_begin = 0;    // its first piece
  uint64_t buffers_bytes = 0;  // of the writer
  uint64_t spilled = 0;
};

external_vector::external_vector(const record::row_type& type, block::block_manager& blocks, record::batch_pool& pool,
                                 settings how)
    : core_(std::make_unique<core>(type, blocks, pool, std::move(how))) {}

external_vector::~external_vector() = default;

outcome external_vector::push(record::batch& b, waker& w) {
  core& c = *core_;
  FLOWRUN_CHECK(!c.finished);
  if (c.order) c.check_order(b);
  const record::batch before = b;
  const outcome s = c.push(b, w);
  c.remember_last(before.rows, before.num_rows - b.num_rows, before.row_bytes, before.heap);
  return s;
}

outcome external_vector::finish(waker& w) { return core_->finished ? outcome::done() : core_->finish(w); }

uint64_t external_vector::num_rows() const { return core_->stored->num_rows; }

uint64_t external_vector::num_bytes() const { return core_->stored->num_bytes; }

uint64_t external_vector::memory_bytes() const {
  const core& c = *core_;
  return c.held + c.stored->index_bytes() + (c.writer ? c.buffers_bytes : 0) +
         (c.stored->cache ? c.stored->cache->held_bytes() : 0);
}

uint64_t external_vector::spilled_bytes() const { return core_->spilled; }

const record::row_type& external_vector::type() const { return core_->stored->type; }

std::unique_ptr<external_vector::reader> external_vector::read(uint64_t memory_bytes, direction way,
                                                               size_t batch_bytes) const {
  FLOWRUN_CHECK(core_->finished);
  return std::make_unique<reader>(core_->stored, memory_bytes, way, batch_bytes);
}

}  // namespace flowrun::container
