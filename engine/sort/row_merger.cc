#include "engine/sort/row_merger.h"

#include <optional>

#include "engine/base/error.h"
#include "engine/sort/loser_tree.h"
#include "engine/sort/predicted_reader.h"

namespace flowrun::sort {

namespace {

using record::word128;

// Where a run's merge stands.
struct cursor {
  const run* source = nullptr;  // null: the run in memory
  const memory_run* in_memory = nullptr;
  uint32_t next_block = 0;
  block::prefetched_block block;  // empty: the head is the first row of next_block, kept in memory
  uint32_t row_number = 0;
  const std::byte* row = nullptr;
  const std::byte* heap = nullptr;

  // The first row of the next block becomes the head. Returns its key prefix.
  word128 show_next_block() {
    const run_block& b = source->blocks[next_block];
    row = heap = source->first_rows.data() + b.first_row_at;
    return b.first;
  }
  // The row_number-th row of the run in memory becomes the head.
  void show_memory_row(uint32_t row_bytes) {
    const auto* entries = reinterpret_cast<const word128*>(in_memory->entries.data());
    heap = in_memory->rows.data();
    row = heap + static_cast<uint32_t>(entries[row_number]) * size_t{row_bytes};
  }
};

}  // namespace

struct row_merger::core {
  core(std::vector<run> merged, std::shared_ptr<const memory_run> kept, const sort_settings& settings,
       const sort_resources& resources, const merger_memory& memory)
      : runs(std::move(merged)),
        in_memory(std::move(kept)),
        rows(settings.type, settings.key),
        comparator(settings.type, settings.key),
        prefix(settings.type, settings.key),
        unique(settings.unique),
        cursors(runs.size() + 1),
        tree(runs.size() + 1, tie{this}) {
    std::vector<predicted_block> sequence =
        predict(runs, [&](const predicted_block& a, const predicted_block& b) { return compare_first(a, b) < 0; });
    reader.emplace(*resources.blocks, runs, std::move(sequence), memory);
    for (uint32_t r = 0; r < runs.size(); ++r) {
      cursors[r].source = &runs[r];
      if (!runs[r].blocks.empty()) tree.set(r, cursors[r].show_next_block());
    }
    cursor& last_run = cursors.back();
    last_run.in_memory = in_memory.get();
    if (in_memory && in_memory->num_rows > 0) {
      last_run.show_memory_row(rows.row_bytes());
      tree.set(static_cast<uint32_t>(runs.size()), prefix(last_run.row, last_run.heap));
    }
    tree.start();
  }

  int compare_first(const predicted_block& a, const predicted_block& b) const {
    const run_block& left = runs[a.run].blocks[a.block];
    const run_block& right = runs[b.run].blocks[b.block];
    if (left.first != right.first) return left.first < right.first ? -1 : 1;
    if (prefix.whole()) return 0;
    const std::byte* left_row = runs[a.run].first_rows.data() + left.first_row_at;
    const std::byte* right_row = runs[b.run].first_rows.data() + right.first_row_at;
    return comparator.compare(left_row, left_row, right_row, right_row);
  }

  // Between heads with equal prefixes.
  struct tie {
    const core* c;
    bool operator()(uint32_t a, uint32_t b) const {
      if (!c->prefix.whole()) {
        const cursor& left = c->cursors[a];
        const cursor& right = c->cursors[b];
        const int order = c->comparator.compare(left.row, left.heap, right.row, right.heap);
        if (order != 0) return order < 0;
      }
      return a < b;
    }
  };

  // The winner's head was delivered: on to its next row.
  void advance(uint32_t winner) {
    cursor& c = cursors[winner];
    if (c.in_memory != nullptr) {
      if (++c.row_number < c.in_memory->num_rows) {
        c.show_memory_row(rows.row_bytes());
        tree.replay(prefix(c.row, c.heap));
      } else {
        tree.replay_exhausted();
      }
    } else if (++c.row_number < c.block.header().num_rows) {
      c.row += rows.row_bytes();
      tree.replay(prefix(c.row, c.heap));
    } else {
      c.block.reset();
      if (c.next_block < c.source->blocks.size()) {
        tree.replay(c.show_next_block());
      } else {
        tree.replay_exhausted();
      }
    }
  }

  bool repeats_last(const cursor& c) const {
    return !last.empty() && comparator.compare(last.data(), last.data(), c.row, c.heap) == 0;
  }

  step next(row_view& out, waker& w) {
    for (;;) {
      if (delivered != tree.none) {
        advance(delivered);
        delivered = tree.none;
      }
      const uint32_t winner = tree.winner();
      if (winner == tree.none) return step::done;
      cursor& c = cursors[winner];
      if (c.in_memory == nullptr && !c.block) {
        const step s = reader->next(c.block, &w);
        if (s == step::blocked) return s;
        FLOWRUN_CHECK(s == step::ready && c.block.header().stream == c.source->stream &&
                      c.block.header().index == c.next_block);
        ++c.next_block;
        c.row_number = 0;
        c.row = c.heap = c.block.payload();
      }
      delivered = winner;
      if (unique) {
        if (repeats_last(c)) continue;
        rows.copy_key(c.row, c.heap, last);
      }
      out = {c.row, c.heap};
      return step::ready;
    }
  }

  const std::vector<run> runs;
  const std::shared_ptr<const memory_run> in_memory;  // the last run, or null
  const wide_rows rows;
  const record::row_comparator comparator;
  const record::key_prefix prefix;
  const bool unique;
  std::vector<cursor> cursors;
  loser_tree<word128, tie> tree;
  std::optional<predicted_reader> reader;
  uint32_t delivered =
      loser_tree<word128, tie>::none;  // its head was handed out and may be looked at until the next call
  std::vector<std::byte> last;         // unique: key of the last row
};

row_merger::row_merger(std::vector<run> runs, std::shared_ptr<const memory_run> in_memory,
                       const sort_settings& settings, const sort_resources& resources, const merger_memory& memory)
    : core_(std::make_unique<core>(std::move(runs), std::move(in_memory), settings, resources, memory)) {}
row_merger::~row_merger() = default;
step row_merger::next(row_view& out, waker& w) { return core_->next(out, w); }

}  // namespace flowrun::sort
