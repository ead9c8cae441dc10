// Run creation for rows that are sorted by index: wide rows, rows with strings, and narrow rows whose input order
// matters.
//
// The run buffer is a ring of pieces: two halves of it, or more and smaller ones where the merge can take many runs
// (sort_resources::runs_per_half). A piece is an arena: rows from the front, their strings from the back; beside it one
// entry per row,
// (first 12 bytes of the normalised key) * 2^32 + row number. Entries are distinct, so the SIMD sort gives one result,
// and rows with equal prefixes come out in input order; where the key is longer than 12 bytes they are then put in
// order by what follows (tie_breaker.h). Rows move once, when they are gathered into blocks (papers/000: moving records
// took up to 45 % of run formation).

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/sort/background_work.h"
#include "engine/sort/run_creator_kinds.h"
#include "engine/sort/run_writer.h"
#include "engine/sort/tie_breaker.h"
#include "engine/sort/wide_rows.h"
#include "engine/sort/word_sort.h"

namespace flowrun::sort {

namespace {

using record::word128;

constexpr uint32_t row_number_bits = 32;
constexpr size_t prefetch_distance = 16;
constexpr uint64_t keys_allowance =
    8 * MiB;                           // beyond the share, so that tiny budgets work; far below the slack promised
constexpr size_t rows_per_block = 32;  // of average length, at least, as far as the memory allows

uint32_t row_number(word128 entry) { return static_cast<uint32_t>(entry); }

class wide_run_creator final : public run_creator {
 public:
  wide_run_creator(const sort_settings& settings, const sort_resources& resources)
      : settings_(settings),
        resources_(resources),
        rows_(settings.type, settings.key),
        comparator_(settings.type, settings.key),
        prefix_(settings.type, settings.key),
        words_(settings.type, settings.key),
        memory_(divide_creator_memory(resources)),
        row_cost_(settings.type.row_bytes() + sizeof(word128)),
        keys_share_(rows_.has_strings_in_key() ? resources.memory_bytes / 8 : 0),
        pieces_(2 * size_t{resources.runs_per_half}),
        arena_bytes_(std::min<uint64_t>((2 * memory_.half_bytes - keys_share_) / pieces_.size(),
                                        std::numeric_limits<uint32_t>::max())),
        max_rows_(std::min<uint64_t>(arena_bytes_ / row_cost_, std::numeric_limits<uint32_t>::max())),
        block_bytes_(resources.block_bytes),
        finished_(*resources.blocks),
        writing_(resources.post) {
    for (piece& p : pieces_) p.sorting.emplace(resources.post);
  }
  // Sorting may wake the writing, and the writer may until it is gone: what is woken must still be there, if asleep.
  ~wide_run_creator() override {
    for (piece& p : pieces_) p.sorting->shutdown();
    writing_.shutdown();
    writer_.reset();
  }

  void prepare(const record::batch& in, std::vector<record::batch>& out) const override { out.push_back(in); }

  step push(record::batch& in, waker& w) override {
    for (;;) {
      if (!has_room(w)) return step::blocked;  // the piece to be filled is still being written
      const size_t taken = fill(in);
      in = in.slice(taken, in.num_rows - taken);
      if (in.num_rows == 0) return step::ready;
      if (pieces_[filling_].num_rows == 0) refuse(in);
      hand_over();
    }
  }

  step finish(waker& w) override {
    if (!closing_) {
      if (!has_room(w)) return step::blocked;
      closing_ = true;
      if (pieces_[filling_].num_rows > 0) {
        start_sorting(pieces_[filling_]);
        full_.push_back(&pieces_[filling_]);
      }
      while (!full_.empty() && (settings_.force_spill || held_bytes(full_) > resources_.kept_bytes)) write_first();
    }
    if (!writing_.idle(&w)) return step::blocked;
    for (piece& p : pieces_)
      if (!p.sorting->idle(&w)) return step::blocked;
    if (writer_ && !writer_->flush(&w)) return step::blocked;
    return step::done;
  }

  sorted_runs take() override {
    sorted_runs out = std::move(finished_);
    if (writer_)
      for (run& r : writer_->take()) out.runs.push_back(std::move(r));
    for (const run& r : out.runs) out.num_rows += r.num_rows;
    for (piece* last : full_) {
      const auto kept = std::make_shared<memory_run>();
      if (!rows_.has_strings()) last->arena.discard_from(last->rows_bytes);
      last->entries.discard_from(last->num_entries * sizeof(word128));
      kept->rows = std::move(last->arena);
      kept->entries = std::move(last->entries);
      kept->num_rows = last->num_entries;
      kept->parts.push_back({0, last->num_entries});
      out.keep(kept);
    }
    if (out.runs.empty() && full_.empty() && !settings_.force_spill) out.keep(std::make_shared<memory_run>());
    full_.clear();
    for (piece& p : pieces_) {
      p.arena = {};
      p.entries = {};
    }
    writer_.reset();
    return out;
  }

 private:
  // free -> filling -> being sorted -> (waiting) -> being written -> free.
  struct piece {
    aligned_buffer arena;
    aligned_buffer entries;
    size_t num_rows = 0;
    size_t num_entries = 0;  // after sorting: what unique, combine and limit leave
    size_t rows_bytes = 0;   // from the front
    size_t heap_end = 0;     // strings lie behind this
    size_t longest_row = 0;  // with its strings
    std::optional<background_work> sorting;
    size_t num_written = 0;  // entries
    bool begun = false;      // to be written
    word128* sorted() { return reinterpret_cast<word128*>(entries.data()); }
    const std::byte* row(size_t number, uint32_t row_bytes) const { return arena.data() + number * row_bytes; }
    void clear(size_t arena_bytes) {
      num_rows = num_entries = rows_bytes = longest_row = num_written = 0;
      heap_end = arena_bytes;
      begun = false;
    }
  };

  uint64_t held_bytes(const piece& h) const {
    return h.rows_bytes + h.num_rows * sizeof(word128) + (h.arena ? arena_bytes_ - h.heap_end : 0);
  }

  uint64_t held_bytes(const std::deque<piece*>& pieces) const {
    uint64_t num_bytes = 0;
    for (const piece* p : pieces) num_bytes += held_bytes(*p);
    return num_bytes;
  }

  // The piece that is being filled, or comes next, is free.
  bool has_room(waker& w) { return writing_.at_most(pieces_.size() - 1 - full_.size(), &w); }

  // Takes rows as long as they fit; returns how many.
  size_t fill(const record::batch& in) {
    piece& h = pieces_[filling_];
    if (!h.arena) {
      h.arena = aligned_buffer(arena_bytes_);
      h.entries = aligned_buffer((max_rows_ + 1) * sizeof(word128));
      h.clear(arena_bytes_);
    }
    const uint32_t row_bytes = rows_.row_bytes();
    size_t count = 0;
    if (!rows_.has_strings()) {
      count = std::min<size_t>(in.num_rows, max_rows_ - h.num_rows);
      if (count > 0) std::memcpy(h.arena.data() + h.rows_bytes, in.rows, count * row_bytes);
      h.rows_bytes += count * row_bytes;
      h.longest_row = row_bytes;
    } else {
      for (; count < in.num_rows && h.num_rows + count < max_rows_; ++count) {
        const std::byte* row = in.row(count);
        const size_t strings_bytes = rows_.heap_bytes(row);
        const size_t front = h.rows_bytes + row_bytes + (h.num_rows + count + 1) * sizeof(word128);
        if (front + strings_bytes + (arena_bytes_ - h.heap_end) > arena_bytes_) break;
        h.heap_end = rows_.place(row, in.heap, h.arena.data(), h.arena.data() + h.rows_bytes, h.heap_end);
        h.rows_bytes += row_bytes;
        h.longest_row = std::max(h.longest_row, row_bytes + strings_bytes);
      }
    }
    word128* entry = h.sorted() + h.num_rows;
    for (size_t i = 0; i < count; ++i) {
      const size_t number = h.num_rows + i;
      const word128 prefix = prefix_(h.row(number, row_bytes), h.arena.data());
      entry[i] = (prefix >> row_number_bits << row_number_bits) | number;
    }
    h.num_rows += count;
    return count;
  }

  [[noreturn]] void refuse(const record::batch& in) const {
    throw error(error_kind::resources,
                fmt::format("a row of {} doesn't fit the {} that a piece of the sort's memory has",
                            format_bytes(rows_.row_bytes() + rows_.heap_bytes(in.row(0))), format_bytes(arena_bytes_)),
                "raise the memory budget (-m), or shorten the strings before the sort");
  }

  void start_sorting(piece& full) {
    full.sorting->start([this, &full](waker&) {
      order(full);
      return true;
    });
  }

  // The full piece is sorted at once, and written when those before are. As many as may stay, should they be the last,
  // wait; but half the ring is for filling and writing.
  void hand_over() {
    start_sorting(pieces_[filling_]);
    full_.push_back(&pieces_[filling_]);
    filling_ = (filling_ + 1) % pieces_.size();
    const size_t most_waiting = pieces_.size() > 2 ? pieces_.size() / 2 : 0;
    while (full_.size() > most_waiting || held_bytes(full_) > resources_.kept_bytes) write_first();
  }

  void write_first() {
    piece& first = *full_.front();
    full_.pop_front();
    writing_.start([this, &first](waker& w) { return write(first, w); });
  }

  void order(piece& h) {
    h.num_entries = h.num_rows;
    if (h.num_rows == 0) return;
    word128* entries = h.sorted();
    sort_words(entries, h.num_rows);
    const uint32_t row_bytes = rows_.row_bytes();
    const std::byte* base = h.arena.data();
    auto compare = [&](word128 a, word128 b) {
      return comparator_.compare(h.row(row_number(a), row_bytes), base, h.row(row_number(b), row_bytes), base);
    };
    if (!prefix_.whole_in_12()) {
      auto row = [&](uint32_t number) { return record::row_place{h.row(number, row_bytes), base}; };
      tie_breaker(words_, row)(entries, h.num_rows);
    }
    if (settings_.unique) {
      h.num_entries =
          static_cast<size_t>(std::unique(entries, entries + h.num_rows,
                                          [&](word128 a, word128 b) {
                                            return a >> row_number_bits == b >> row_number_bits && compare(a, b) == 0;
                                          }) -
                              entries);
    }
    if (settings_.combiner) {
      h.num_entries = combine(
          h, [&](word128 a, word128 b) { return a >> row_number_bits == b >> row_number_bits && compare(a, b) == 0; });
    }
    if (settings_.limit > 0) h.num_entries = std::min<size_t>(h.num_entries, settings_.limit);
  }

  // Adds the rows of each key to its first one; returns how many entries are left.
  template <class Equal>
  size_t combine(piece& h, Equal equal) {
    word128* entries = h.sorted();
    const uint32_t row_bytes = rows_.row_bytes();
    size_t last = 0;
    for (size_t i = 1; i < h.num_rows; ++i) {
      if (i + prefetch_distance < h.num_rows)
        __builtin_prefetch(h.row(row_number(entries[i + prefetch_distance]), row_bytes));
      if (equal(entries[last], entries[i]))
        settings_.combiner->add(h.arena.data() + size_t{row_number(entries[last])} * row_bytes,
                                h.row(row_number(entries[i]), row_bytes));
      else
        entries[++last] = entries[i];
    }
    return last + 1;
  }

  // A step in the background: true when the whole piece is on its way to the disks.
  bool write(piece& h, waker& w) {
    const uint32_t row_bytes = rows_.row_bytes();
    const std::byte* base = h.arena.data();
    if (!h.begun) {
      if (!h.sorting->idle(&w)) return false;
      if (!fit_blocks(h.longest_row, held_bytes(h) / std::max<size_t>(h.num_rows, 1), w)) return false;
      const std::byte* first = h.row(row_number(h.sorted()[0]), row_bytes);
      const int order = last_.empty() ? 1 : comparator_.compare(last_.data(), last_.data(), first, base);
      const bool extends = writer_->has_run() && (settings_.unique ? order < 0 : order <= 0);
      if (!extends) writer_->begin_run();
      rows_.copy_key(h.row(row_number(h.sorted()[h.num_entries - 1]), row_bytes), base, last_);
      h.begun = true;
    }
    while (h.num_written < h.num_entries) {
      if (resources_.cancelled && resources_.cancelled()) throw error(error_kind::cancelled, "the sort was cancelled");
      std::byte* payload = writer_->payload(&w);
      if (payload == nullptr) return false;
      write_block(h, payload);
    }
    h.clear(arena_bytes_);
    return true;
  }

  // Gathers rows into one block.
  void write_block(piece& h, std::byte* payload) {
    const uint32_t row_bytes = rows_.row_bytes();
    const word128* entries = h.sorted();
    const std::byte* base = h.arena.data();
    const size_t first = h.num_written;
    size_t next = first;
    size_t front = 0;
    size_t back = writer_->payload_bytes();
    for (; next < h.num_entries; ++next) {
      if (next + prefetch_distance < h.num_entries)
        __builtin_prefetch(h.row(row_number(entries[next + prefetch_distance]), row_bytes));
      const std::byte* row = h.row(row_number(entries[next]), row_bytes);
      if (front + row_bytes + rows_.heap_bytes(row) > back) break;
      back = rows_.place(row, base, payload, payload + front, back);
      front += row_bytes;
    }
    const std::byte* first_row = h.row(row_number(entries[first]), row_bytes);
    if (!prefix_.whole()) keep_first_key(first_row, base);
    h.num_written = next;
    writer_->submit(static_cast<uint32_t>(next - first), static_cast<uint32_t>(front),
                    static_cast<uint32_t>(writer_->payload_bytes() - back), prefix_(first_row, base),
                    first_copy_.data(), first_copy_.size());
  }

  // Into first_copy_. What all runs keep of their blocks' first keys is part of the budget.
  void keep_first_key(const std::byte* row, const std::byte* heap) {
    rows_.copy_key(row, heap, first_copy_);
    keys_kept_ += first_copy_.size();
    if (keys_share_ == 0 || keys_kept_ <= keys_share_ + keys_allowance) return;
    throw error(
        error_kind::resources,
        fmt::format("the first keys of this sort's blocks, which stay in memory, take more than {}",
                    format_bytes(keys_share_ + keys_allowance)),
        fmt::format("raise the memory budget (-m) so that the sort gets much more than {}, or sort by a shorter key",
                    format_bytes(resources_.memory_bytes)));
  }

  // Makes sure that a row of `longest` bytes fits a block, and many of `average` bytes do; false while the blocks of
  // the old size are being written out.
  bool fit_blocks(size_t longest, size_t average, waker& w) {
    if (writer_ && longest <= writer_->payload_bytes()) return true;
    if (writer_) {
      if (!writer_->flush(&w)) return false;
      for (run& r : writer_->take()) finished_.runs.push_back(std::move(r));
      writer_.reset();
    }
    // Long rows get long blocks: the first key of each block stays in memory, and should be a small part of it.
    const size_t comfortable = std::min<size_t>(rows_per_block * average, resources_.memory_bytes / 32);
    const size_t needed = std::bit_ceil(std::max(longest + block::block_header_bytes, comfortable));
    unsigned num_buffers = memory_.num_buffers;
    if (needed > block_bytes_) {
      if (needed * 8 > resources_.memory_bytes)
        throw error(error_kind::resources,
                    fmt::format("a row of {} is too long for a sort with {} of memory", format_bytes(longest),
                                format_bytes(resources_.memory_bytes)),
                    fmt::format("raise the memory budget (-m) so that the sort gets {}", format_bytes(needed * 8)));
      block_bytes_ = static_cast<uint32_t>(needed);
      num_buffers = static_cast<unsigned>(std::clamp<uint64_t>(resources_.memory_bytes / 8 / needed, 2, num_buffers));
    }
    writer_.emplace(*resources_.blocks, block_bytes_, num_buffers, resources_.coding);
    return true;
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const wide_rows rows_;
  const record::row_comparator comparator_;
  const record::key_prefix prefix_;
  const record::key_words words_;
  const creator_memory memory_;
  const size_t row_cost_;
  const uint64_t keys_share_;  // of the memory, for first keys of unbounded length
  std::vector<piece> pieces_;  // filled and written in turn
  const uint64_t arena_bytes_;
  const uint64_t max_rows_;
  size_t filling_ = 0;
  std::deque<piece*> full_;  // not being written; in the end: what stays
  bool closing_ = false;
  // Of the writing; the owner touches them only while that is idle.
  uint32_t block_bytes_;
  std::optional<run_writer> writer_;
  sorted_runs finished_;  // by writers of smaller blocks
  uint64_t keys_kept_ = 0;
  std::vector<std::byte> last_;        // the newest run's last row
  std::vector<std::byte> first_copy_;  // of the block being gathered
  background_work writing_;
};

}  // namespace

std::unique_ptr<run_creator> make_wide_run_creator(const sort_settings& settings, const sort_resources& resources) {
  return std::make_unique<wide_run_creator>(settings, resources);
}

}  // namespace flowrun::sort
