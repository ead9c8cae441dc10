#include "engine/sort/row_merger.h"

#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/kernels/loser_tree.h"
#include "engine/kernels/offset_value_code.h"
#include "engine/runs/predicted_reader.h"

namespace flowrun::sort {

namespace {

using record::row_place;
using record::word128;

// Where a run's merge stands.
struct cursor {
  const runs::run* source = nullptr;  // null: a part of a run in memory
  const runs::memory_run* in_memory = nullptr;
  uint32_t next_block = 0;
  block::prefetched_block block;  // empty: the head is the first row of next_block, kept in memory
  uint32_t row_number = 0;
  uint64_t end = 0;  // of the part in memory: the first row number behind it
  row_place head;

  // The first row of the next block becomes the head, as far as it was kept.
  void show_next_block() { head.row = head.heap = source->first_rows.data() + source->blocks[next_block].first_row_at; }
  const std::byte* memory_row(size_t number, uint32_t row_bytes) const {
    const auto* entries = reinterpret_cast<const word128*>(in_memory->entries.data());
    return in_memory->rows.data() + static_cast<uint32_t>(entries[number]) * size_t{row_bytes};
  }
  // The row_number-th row of the run in memory becomes the head.
  void show_memory_row(uint32_t row_bytes) {
    head = {memory_row(row_number, row_bytes), in_memory->rows.data()};
    if (row_number + 2 < end) __builtin_prefetch(memory_row(row_number + 2, row_bytes));
  }
};

}  // namespace

struct row_merger::core {
  virtual ~core() = default;
  virtual outcome next(row_view& out, waker& w) = 0;
};

namespace {

// `Coded`: the tree compares offset-value codes; else key prefixes, which are whole keys.
template <bool Coded>
class merge final : public row_merger::core {
 public:
  merge(std::vector<runs::run> merged, runs::memory_runs kept, const sort_settings& settings,
        const sort_resources& resources, const merger_memory& memory)
      : runs_(std::move(merged)),
        in_memory_(std::move(kept)),
        rows_(settings.type, settings.key),
        unique_(settings.unique),
        prefix_(settings.type, settings.key),
        words_(settings.type, settings.key),
        coder_(words_),
        cursors_(runs_.size() + runs::num_parts(in_memory_)),
        tree_(cursors_.size(), tie{this}) {
    FLOWRUN_CHECK(Coded != prefix_.whole());
    std::vector<runs::predicted_block> sequence = runs::predict(
        runs_, [&](const runs::predicted_block& a, const runs::predicted_block& b) { return comes_first(a, b); });
    reader_.emplace(*resources.blocks, runs_, std::move(sequence), memory.reading());
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      cursor& c = cursors_[r];
      c.source = &runs_[r];
      if (runs_[r].blocks.empty()) continue;
      c.show_next_block();
      tree_.set(r, Coded ? coder_.first(c.head) : runs_[r].blocks[0].first);
    }
    auto next = static_cast<uint32_t>(runs_.size());
    for (const std::shared_ptr<const runs::memory_run>& stayed : in_memory_) {
      for (const runs::memory_run::part& part : stayed->parts) {
        const uint32_t number = next++;
        if (part.num_words == 0) continue;
        cursor& c = cursors_[number];
        c.in_memory = stayed.get();
        c.row_number = static_cast<uint32_t>(part.first);
        c.end = part.first + part.num_words;
        c.show_memory_row(rows_.row_bytes());
        tree_.set(number, Coded ? coder_.first(c.head) : prefix_(c.head.row, c.head.heap));
      }
    }
    tree_.start();
  }

  outcome next(row_merger::row_view& out, waker& w) override {
    for (;;) {
      if (delivered_ != tree_.none) {
        advance(delivered_);
        delivered_ = tree_.none;
      }
      const uint32_t winner = tree_.winner();
      if (winner == tree_.none) return outcome::done();
      cursor& c = cursors_[winner];
      if (c.in_memory == nullptr && !c.block) {
        const outcome s = reader_->next(c.block, &w);
        if (s.is_blocked()) return s;
        FLOWRUN_CHECK(s.is_ready() && c.block.header().stream == c.source->stream &&
                      c.block.header().index == c.next_block);
        ++c.next_block;
        c.row_number = 0;
        c.head.row = c.head.heap = c.block.payload();
      }
      delivered_ = winner;
      if (unique_ && repeats_last()) continue;
      out = {c.head.row, c.head.heap};
      return outcome::ready();
    }
  }

 private:
  // Between heads with equal keys.
  struct tie {
    const merge* m;
    bool operator()(uint32_t a, uint32_t b, [[maybe_unused]] word128& key) const {
      if constexpr (Coded) {
        const int order = m->coder_.compare(m->cursors_[a].head, m->cursors_[b].head, key);
        if (order != 0) return order < 0;
      }
      return a < b;
    }
  };

  bool comes_first(const runs::predicted_block& a, const runs::predicted_block& b) const {
    const runs::run_block& left = runs_[a.run].blocks[a.block];
    const runs::run_block& right = runs_[b.run].blocks[b.block];
    if (!Coded || left.first != right.first) return left.first < right.first;
    const std::byte* left_row = runs_[a.run].first_rows.data() + left.first_row_at;
    const std::byte* right_row = runs_[b.run].first_rows.data() + right.first_row_at;
    return words_.compare({left_row, left_row}, {right_row, right_row}) < 0;
  }

  // The key of the head in the tree; the row before it in its run was the last winner.
  word128 key_of(const row_place& head, [[maybe_unused]] const row_place& before) const {
    if constexpr (Coded) return coder_.relative(head, before);
    return prefix_(head.row, head.heap);
  }

  // The winner's head was delivered: on to its next row.
  void advance(uint32_t winner) {
    cursor& c = cursors_[winner];
    const row_place before = c.head;
    if (c.in_memory != nullptr) {
      if (++c.row_number == c.end) return tree_.replay_exhausted();
      c.show_memory_row(rows_.row_bytes());
      return tree_.replay(key_of(c.head, before));
    }
    if (++c.row_number < c.block.header().num_rows) {
      c.head.row += rows_.row_bytes();
      rows_.prefetch_next(c.head.row, c.head.heap, c.block.header().num_rows - c.row_number - 1);
      return tree_.replay(key_of(c.head, before));
    }
    if (c.next_block == c.source->blocks.size()) {
      c.block.reset();
      return tree_.replay_exhausted();
    }
    c.show_next_block();
    const word128 key = Coded ? key_of(c.head, before) : c.source->blocks[c.next_block].first;
    c.block.reset();
    tree_.replay(key);
  }

  // Whether the winner's key is that of the winner before.
  bool repeats_last() {
    if constexpr (Coded) return coder_.is_equal(tree_.winner_key());
    const word128 key = tree_.winner_key();
    return std::exchange(last_, key) == key;
  }

  const std::vector<runs::run> runs_;
  const runs::memory_runs in_memory_;
  const kernels::wide_rows rows_;
  const bool unique_;
  const record::key_prefix prefix_;
  const record::key_words words_;
  const kernels::offset_value_coder<record::key_words> coder_;
  std::vector<cursor> cursors_;
  kernels::loser_tree<word128, tie> tree_;
  std::optional<runs::predicted_reader> reader_;
  uint32_t delivered_ =
      kernels::loser_tree<word128, tie>::none;  // its head was handed out and may be looked at until the next call
  std::optional<word128> last_;                 // unique, not coded: the last winner's key
};

std::unique_ptr<row_merger::core> make_merge(std::vector<runs::run> runs, runs::memory_runs in_memory,
                                             const sort_settings& settings, const sort_resources& resources,
                                             const merger_memory& memory) {
  if (record::key_prefix(settings.type, settings.key).whole())
    return std::make_unique<merge<false>>(std::move(runs), std::move(in_memory), settings, resources, memory);
  return std::make_unique<merge<true>>(std::move(runs), std::move(in_memory), settings, resources, memory);
}

}  // namespace

row_merger::row_merger(std::vector<runs::run> runs, runs::memory_runs in_memory, const sort_settings& settings,
                       const sort_resources& resources, const merger_memory& memory)
    : core_(make_merge(std::move(runs), std::move(in_memory), settings, resources, memory)) {}
row_merger::~row_merger() = default;
outcome row_merger::next(row_view& out, waker& w) { return core_->next(out, w); }

}  // namespace flowrun::sort
