#include "engine/sort/row_merger.h"

#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/kernels/row_tournament.h"
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
  uint64_t rows_taken = 0;
  block::prefetched_block block;  // empty: the head is the first row of next_block, kept in memory
  uint32_t row_number = 0;
  uint64_t end = 0;  // of the part in memory: the first row number behind it

  bool waits_for_block() const { return in_memory == nullptr && !block; }
  // The first row of the next block, as far as it was kept.
  row_place first_of_next_block(const kernels::wide_rows& rows) const {
    return rows.copied_key(source->first_rows.data() + source->blocks.first_row_at(next_block));
  }
  const std::byte* memory_row(size_t number, uint32_t row_bytes) const {
    const auto* entries = reinterpret_cast<const word128*>(in_memory->entries.data());
    return in_memory->rows.data() + static_cast<uint32_t>(entries[number]) * size_t{row_bytes};
  }
  // The row_number-th row of the run in memory.
  row_place row_in_memory(uint32_t row_bytes) const {
    if (row_number + 2 < end) __builtin_prefetch(memory_row(row_number + 2, row_bytes));
    return {memory_row(row_number, row_bytes), in_memory->rows.data()};
  }
};

}  // namespace

struct row_merger::core {
  virtual ~core() = default;
  virtual outcome next(row_view& out, waker& w) = 0;
  virtual runs::merge_position position() const = 0;
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
        cursors_(runs_.size() + runs::num_parts(in_memory_)),
        heads_(cursors_.size(), prefix_, words_) {
    FLOWRUN_CHECK(Coded != prefix_.whole());
    const auto less = [this](const runs::run& a, uint32_t i, const runs::run& b, uint32_t j) {
      return comes_first(a, i, b, j);
    };
    reader_.emplace(*resources.blocks, runs_, less, memory.reading());
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      cursor& c = cursors_[r];
      c.source = &runs_[r];
      if (runs_[r].blocks.empty()) continue;
      heads_.set(r, c.first_of_next_block(rows_), runs_[r].blocks.first(0));
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
        heads_.set(number, c.row_in_memory(rows_.row_bytes()));
      }
    }
    heads_.start();
  }

  outcome next(row_merger::row_view& out, waker& w) override {
    for (;;) {
      if (std::exchange(delivered_, false)) advance();
      const uint32_t winner = heads_.winner();
      if (winner == heads_.none) return outcome::done();
      cursor& c = cursors_[winner];
      if (c.waits_for_block()) {
        const outcome s = reader_->next(c.block, &w);
        if (s.is_blocked()) return s;
        FLOWRUN_CHECK(s.is_ready() && c.block.header().stream == c.source->stream &&
                      c.block.header().index == c.source->blocks_before + c.next_block);
        c.row_number = 0;
        heads_.move_head(winner, {c.block.payload(), c.block.payload()});
        if (c.next_block++ == 0 && c.source->rows_before_in_block > 0) {
          pass(c.source->rows_before_in_block);
          continue;
        }
      }
      delivered_ = true;
      ++c.rows_taken;
      if (unique_ && heads_.repeats_last()) continue;
      out = {heads_.head(winner).row, heads_.head(winner).heap};
      return outcome::ready();
    }
  }

  runs::merge_position position() const override {
    runs::merge_position out;
    if (cursors_.size() > runs_.size()) return out;
    for (size_t r = 0; r < runs_.size(); ++r)
      out.push_back({runs_[r].stream, runs_[r].rows_before + cursors_[r].rows_taken});
    return out;
  }

 private:
  bool comes_first(const runs::run& a, uint32_t i, const runs::run& b, uint32_t j) const {
    const word128 left = a.blocks.first(i), right = b.blocks.first(j);
    if (!Coded || left != right) return left < right;
    return words_.compare(rows_.copied_key(a.first_rows.data() + a.blocks.first_row_at(i)),
                          rows_.copied_key(b.first_rows.data() + b.blocks.first_row_at(j))) < 0;
  }

  // The winner's first rows were taken before this merge began: on to the row behind them, which its block has.
  void pass(uint32_t num_rows) {
    if (unique_) static_cast<void>(heads_.repeats_last());
    cursor& c = cursors_[heads_.winner()];
    c.row_number = num_rows;
    const row_place& first = heads_.head(heads_.winner());
    heads_.replay({first.row + num_rows * size_t{rows_.row_bytes()}, first.heap});
  }

  // The winner's head was delivered: on to its next row.
  void advance() {
    cursor& c = cursors_[heads_.winner()];
    if (c.in_memory != nullptr) {
      if (++c.row_number == c.end) return heads_.replay_exhausted();
      return heads_.replay(c.row_in_memory(rows_.row_bytes()));
    }
    if (++c.row_number < c.block.header().num_rows) {
      const row_place& last = heads_.head(heads_.winner());
      const row_place next{last.row + rows_.row_bytes(), last.heap};
      rows_.prefetch_next(next.row, next.heap, c.block.header().num_rows - c.row_number - 1);
      return heads_.replay(next);
    }
    const block::prefetched_block used_up = std::move(c.block);  // until the last row of it was compared
    if (c.next_block == c.source->blocks.size()) return heads_.replay_exhausted();
    heads_.replay(c.first_of_next_block(rows_), c.source->blocks.first(c.next_block));
  }

  const std::vector<runs::run> runs_;
  const runs::memory_runs in_memory_;
  const kernels::wide_rows rows_;
  const bool unique_;
  const record::key_prefix prefix_;
  const record::key_words words_;
  std::vector<cursor> cursors_;
  kernels::row_tournament<Coded> heads_;
  std::optional<runs::predicted_reader> reader_;
  bool delivered_ = false;  // the winner's head was handed out, and may be looked at until the next call
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
runs::merge_position row_merger::position() const { return core_->position(); }

}  // namespace flowrun::sort
