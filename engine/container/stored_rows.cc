#include "engine/container/stored_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/container/block_window.h"
#include "engine/container/lent_blocks.h"
#include "engine/kernels/wide_rows.h"

namespace flowrun::container {

namespace {

constexpr unsigned least_buffers = 3;

// The rows of `in` from the last to the first, `count` of them before `end`, in memory of their own.
record::batch reversed(const record::batch& in, size_t end, size_t count, record::batch_pool& pool) {
  const size_t row_bytes = in.row_bytes;
  std::shared_ptr<std::byte[]> rows = pool.take(count * row_bytes);
  const std::byte* from = in.row(end);
  std::byte* to = rows.get();
  const auto copy = [&](auto width) {
    for (size_t i = 0; i < count; ++i, to += width) {
      from -= width;
      std::memcpy(to, from, width);
    }
  };
  switch (row_bytes) {
    case 4: copy(std::integral_constant<size_t, 4>()); break;
    case 8: copy(std::integral_constant<size_t, 8>()); break;
    case 16: copy(std::integral_constant<size_t, 16>()); break;
    default: copy(row_bytes);
  }
  record::batch out = in;
  out.rows = rows.get();
  out.num_rows = count;
  if (in.heap_bytes == 0) {
    out.owner = std::move(rows);
  } else {
    using both = std::pair<std::shared_ptr<std::byte[]>, std::shared_ptr<const void>>;
    out.owner = std::make_shared<both>(std::move(rows), in.owner);
  }
  return out;
}

}  // namespace

void stored_rows::count() {
  num_rows = num_bytes = 0;
  on_scratch.clear();
  with_key.clear();
  for (size_t i = 0; i < pieces.size(); ++i) {
    row_piece& p = pieces[i];
    p.first_row = num_rows;
    num_rows += p.num_rows;
    num_bytes += p.num_bytes;
    if (!has_all_keys && (p.in_memory() || p.key_at != row_piece::no_key)) with_key.push_back(static_cast<uint32_t>(i));
    if (p.in_memory()) continue;
    on_scratch.push_back(static_cast<uint32_t>(i));
    longest_block = std::max(longest_block, p.stored.id.num_bytes);
  }
}

struct stored_reader::core {
  core(std::shared_ptr<const stored_rows> what, uint64_t memory_bytes, direction which_way, size_t batch_bytes)
      : rows(std::move(what)),
        way(which_way),
        memory(memory_bytes),
        shape(record::shape_for(rows->type, batch_bytes)) {}

  size_t num_pieces() const { return rows->pieces.size(); }
  const row_piece& piece(size_t position) const {
    return rows->pieces[way == direction::forward ? position : num_pieces() - 1 - position];
  }

  // Of the blocks in reading order: which piece the one at `number` is, and which block the piece at `position`, one on
  // scratch, is.
  const row_piece& block_at(uint64_t number) const {
    const std::vector<uint32_t>& all = rows->on_scratch;
    return rows->pieces[way == direction::forward ? all[number] : all[all.size() - 1 - number]];
  }
  uint64_t block_number(size_t position) const {
    const std::vector<uint32_t>& all = rows->on_scratch;
    const size_t piece_number = way == direction::forward ? position : num_pieces() - 1 - position;
    const auto at = static_cast<uint64_t>(std::lower_bound(all.begin(), all.end(), piece_number) - all.begin());
    return way == direction::forward ? at : all.size() - 1 - at;
  }

  // Blocks are read ahead from the first call on, while pieces in memory are given out; but not where a seek may come.
  void start() {
    started = true;
    if (rows->on_scratch.empty() || !rows->index.empty()) return;
    open_window();
    window->start();
  }

  void open_window() {
    if (window || rows->on_scratch.empty()) return;
    const uint64_t enough = std::max<uint64_t>(8, uint64_t{2} * rows->blocks.num_disks() * rows->blocks.queue_depth());
    const auto num_buffers =
        static_cast<unsigned>(std::clamp<uint64_t>(memory / rows->longest_block, least_buffers, enough));
    lent.allow(num_buffers / 2);
    window.emplace(
        rows->blocks, [this](uint64_t i) -> const block::fetch& { return block_at(i).stored; }, rows->on_scratch.size(),
        rows->longest_block, num_buffers);
  }

  // A reader that never seeks does not use the cache: it would push out blocks that are wanted again, and would never
  // come back to its own.
  bool stays() const { return rows->cache != nullptr && has_sought; }

  // A block that was read before, if it is still there.
  bool find_in_cache() {
    if (!stays()) return false;
    current = rows->cache->find(position);
    return current.num_rows > 0;
  }

  // The piece at `position` into `current`.
  outcome load(waker& w) {
    const row_piece& p = piece(position);
    if (p.in_memory()) {
      current = p.rows;
    } else if (!find_in_cache()) {
      open_window();
      window->skip_to(block_number(position));
      block::prefetched_block block;
      if (const outcome o = window->next(block, w); o.is_blocked()) return o;
      current = lent.rows_of(
          block, rows->type.row_bytes(), rows->type.has_strings(),
          [this](size_t num_bytes) { return rows->pool.take(num_bytes); }, stays());
      if (stays())
        rows->cache->put(position, current,
                         std::bit_ceil(std::max(current.num_rows * current.row_bytes, current.heap_bytes)));
    }
    used = 0;
    return outcome::ready();
  }

  // The next rows of the current piece, as many as suit a batch.
  void cut() {
    const size_t left = current.num_rows - used;
    size_t count = std::min(left, shape.max_rows);
    if (way == direction::forward) {
      front = current.slice(used, count);
      front.first_row = piece(position).first_row + used;
    } else {
      front = reversed(current, left, count, rows->pool);
      front.first_row = rows->num_rows - piece(position).first_row - left;
    }
  }

  outcome next(waker& w) {
    if (!started) start();
    for (;;) {
      if (front.num_rows > 0) return outcome::ready();
      if (position == num_pieces()) return outcome::done();
      if (current.num_rows == 0)
        if (const outcome o = load(w); o.is_blocked()) return o;
      if (wanted) {
        used = first_not_less(used);
        if (used < current.num_rows) wanted.reset();
      }
      if (used < current.num_rows)
        cut();
      else
        leave_piece();
    }
  }

  void leave_piece() {
    release_read();
    current = {};
    used = 0;
    ++position;
  }

  // Frees the current piece, if no other reader can come to it any more.
  void release_read() {
    if (rows.use_count() > 1) return;
    // Letting go of one more reference orders this behind the threads that let go of theirs. (A fence would do, but the
    // thread sanitizer knows no fences.)
    std::shared_ptr(rows).reset();
    rows->release(piece(position));
  }

  void pop() {
    used += front.num_rows;
    front = {};
    if (used == current.num_rows) leave_piece();
  }

  struct sought {
    const record::row_comparator* order;
    const std::byte* row;
    const std::byte* heap;
  };

  // Of the current piece, the first row from `from` on that is not less than the wanted one.
  size_t first_not_less(size_t from) const {
    size_t end = current.num_rows;
    while (from < end) {
      const size_t middle = from + (end - from) / 2;
      if (wanted->order->compare(wanted->row, wanted->heap, current.row(middle), current.heap) > 0)
        from = middle + 1;
      else
        end = middle;
    }
    return from;
  }

  // < 0, 0, > 0: the sought row comes before the piece's first row, is equal to it, or comes after it.
  int compare_to_first(const sought& what, size_t piece_number) const {
    const row_piece& p = rows->pieces[piece_number];
    const record::row_place first =
        p.in_memory() ? record::row_place{p.rows.rows, p.rows.heap}
                      : kernels::wide_rows::copied_key(rows->first_keys.data() + p.key_at, rows->key_begin);
    return what.order->compare(what.row, what.heap, first.row, first.heap);
  }

  // The same for the current piece's last row.
  int compare_to_last(const sought& what) const {
    return what.order->compare(what.row, what.heap, current.row(current.num_rows - 1), current.heap);
  }

  // The pieces that can be compared with are numbered, too.
  size_t num_comparable() const { return rows->has_all_keys ? num_pieces() : rows->with_key.size(); }
  size_t comparable(size_t number) const { return rows->has_all_keys ? number : rows->with_key[number]; }
  // The first of them that is no piece before `from`.
  size_t first_comparable(size_t from) const {
    const std::vector<uint32_t>& all = rows->with_key;
    if (rows->has_all_keys) return from;
    return static_cast<size_t>(std::lower_bound(all.begin(), all.end(), from) - all.begin());
  }

  // The last piece from `from` on that is known to begin before the sought row, which is the first that may have such a
  // row; `from` if none is. Near ones are found fast.
  size_t piece_of(const sought& what, size_t from) const {
    const size_t first = first_comparable(from);
    size_t step_length = 1;
    size_t low = first, high = first;  // all before `low` begin before it
    while (high < num_comparable() && compare_to_first(what, comparable(high)) > 0) {
      low = high + 1;
      high = std::min(num_comparable(), low + step_length);
      step_length *= 2;
    }
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (compare_to_first(what, comparable(middle)) > 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low > first ? comparable(low - 1) : from;
  }

  // Where pieces are looked for: behind the current one, if it is here.
  size_t first_unread() const { return current.num_rows > 0 ? position + 1 : position; }

  void expect(const record::row_comparator& order, const record::batch& keys) {
    if (rows->on_scratch.empty() || !rows->has_all_keys) return;  // else it isn't known which blocks are wanted
    open_window();
    std::vector<uint64_t> expected;  // numbers of blocks
    size_t from = first_unread();
    for (size_t i = 0; i < keys.num_rows && from < num_pieces(); ++i) {
      const sought what{&order, keys.row(i), keys.heap};
      if (current.num_rows > 0 && compare_to_last(what) <= 0) continue;
      size_t p = from = piece_of(what, from);
      do {
        if (rows->pieces[p].in_memory()) continue;
        const uint64_t number = block_number(p);
        if (expected.empty() || expected.back() < number) expected.push_back(number);
      } while (++p < num_pieces() && compare_to_first(what, p) >= 0);
    }
    window->expect(expected);
  }

  // Goes to the last piece that is known to begin before the wanted row, which is the first that may have such a row.
  void seek(const sought& what) {
    has_sought = true;
    wanted = what;
    front = {};
    if (current.num_rows > 0 && compare_to_last(what) <= 0) return;
    const size_t found = piece_of(what, first_unread());
    current = {};
    used = 0;
    position = found;
  }

  const std::shared_ptr<const stored_rows> rows;
  const direction way;
  const uint64_t memory;
  const record::batch_shape shape;
  bool started = false;
  bool has_sought = false;
  std::optional<block_window> window;  // once a block is read
  lent_blocks lent;
  size_t position = 0;    // of the current piece, in reading order
  record::batch current;  // empty: not there yet
  size_t used = 0;        // of its rows
  record::batch front;    // what was cut off, not yet popped
  std::optional<sought> wanted;
};

stored_reader::stored_reader(std::shared_ptr<const stored_rows> rows, uint64_t memory_bytes, direction way,
                             size_t batch_bytes)
    : core_(std::make_unique<core>(std::move(rows), memory_bytes, way, batch_bytes)) {}

stored_reader::~stored_reader() = default;

outcome stored_reader::front(const record::batch*& out, waker& w) {
  const outcome s = core_->next(w);
  if (s.is_ready()) out = &core_->front;
  return s;
}

void stored_reader::pop() { core_->pop(); }

void stored_reader::seek(const record::row_comparator& order, const std::byte* row, const std::byte* heap) {
  FLOWRUN_CHECK(core_->way == direction::forward && !core_->rows->index.empty());
  core_->seek({&order, row, heap});
}

void stored_reader::expect(const record::row_comparator& order, const record::batch& keys) {
  FLOWRUN_CHECK(core_->way == direction::forward && !core_->rows->index.empty());
  core_->expect(order, keys);
}

uint64_t stored_reader::num_blocks_read() const { return core_->window ? core_->window->num_read() : 0; }

}  // namespace flowrun::container
