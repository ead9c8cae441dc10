// Run creation for rows that are sorted by index: wide rows, rows with strings, and narrow rows whose input order
// matters.
//
// The run buffer is a ring of stretches (row_stretch.h): two halves of it, or more and smaller ones where the merge can
// take many runs (creator_sizes::runs_per_half). Rows move once, when they are gathered into blocks (Asynchronous
// sorting: moving records took up to 45 % of run formation).
//
// With several threads a stretch that is half the memory is sorted in pieces while it fills, each as soon as an eighth
// of it is there, as narrow_run_creator.cc does. When it is written, the pieces are merged in slices, several at once
// again (row_slices.h, slice_lanes.h). So the runs don't depend on how a stretch was cut into pieces.

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/runs/row_writer.h"
#include "engine/runs/run_writer.h"
#include "engine/sizes/sorted_row.h"
#include "engine/sort/row_stretch.h"
#include "engine/sort/run_creator_kinds.h"
#include "engine/sort/slice_lanes.h"
#include "engine/sort/stretch_ring.h"

namespace flowrun::sort {

namespace {

using record::row_place;

constexpr size_t most_pieces = 8;
constexpr uint64_t most_slice_bytes = 256 * KiB;  // rows and their index; fits the L2 cache
constexpr size_t longest_last_key = 64 * KiB;
constexpr unsigned most_lanes = 8;  // slices under way; their indices are part of that slack, too

size_t pieces_of_a_stretch(const sort_resources& resources) {
  return resources.threads > 1 && resources.creating.runs_per_half == 1 ? most_pieces : 1;
}
// One slice is written while each thread merges one.
size_t lanes_of(const sort_resources& resources) {
  return pieces_of_a_stretch(resources) > 1 ? std::min(resources.threads + 1, most_lanes) : 1;
}

class wide_run_creator final : public run_creator {
 public:
  wide_run_creator(const sort_settings& settings, const sort_resources& resources)
      : settings_(settings),
        resources_(resources),
        slices_(settings.type, settings.key),
        keys_share_(kernels::wide_rows(settings.type, settings.key).has_strings_in_key() ? resources.memory_bytes / 8
                                                                                         : 0),
        rules_(settings_, bytes_of_stretch(resources.creating), pieces_of_a_stretch(resources)),
        room_{rules_.arena_bytes, resources.creating.block_bytes - sizes::block_header_bytes, false},
        sizes_(resources.creating),
        first_rows_left_(std::max(keys_share_, resources.memory_bytes / 32) + resources.creating.uncounted.first_keys),
        finished_(*resources.blocks),
        lanes_(slices_, settings, resources.post, lanes_of(resources)),
        ring_(settings_, resources_,
              [this](row_stretch& full, uint64_t rows_taken, waker& w) { return write(full, rows_taken, w); }) {
    for (unsigned i = 0; i < 2 * resources.creating.runs_per_half; ++i) ring_.add(rules_, resources.post);
  }
  // Sorting and merging may wake the writing, and so may the writer as long as it lives: the writing must still be
  // there, even if it is asleep.
  ~wide_run_creator() override {
    ring_.stop_sorting();
    lanes_.shutdown();
    ring_.stop_writing();
    to_blocks_.reset();
    writer_.reset();
  }

  prepared_rows prepare(const record::batch& in) const override { return in; }

  outcome push(prepared_rows& in, waker& w) override {
    record::batch& left = std::get<record::batch>(in);
    for (;;) {
      // The stretch to be filled is still being written.
      if (const outcome o = ring_.room(w); o.is_blocked()) return o;
      row_stretch& filling = ring_.filling();
      if ((room_.alone || room_shrinks_) && filling.num_rows() == 0) {
        if (const outcome o = ring_.alone(w); o.is_blocked()) return o;
        room_shrinks_ = false;
      }
      const size_t taken = filling.fill(left, room_);
      left = left.slice(taken, left.num_rows - taken);
      if (left.num_rows == 0) {
        if (filling.has_piece()) filling.sort_rest();
        return outcome::ready();
      }
      const uint64_t next_row = rules_.rows.row_bytes() + rules_.rows.heap_bytes(left.row(0));
      if (next_row > room_.longest_row) {
        const stretch_room before = std::exchange(room_, room_for(next_row));
        // The merge needs the memory of what would stay.
        if (room_.longest_row + sizes::block_header_bytes > resources_.creating.longest_beside_kept)
          ring_.keep_none_once_spilled();
        if (room_.num_bytes == before.num_bytes) continue;
        room_shrinks_ = true;
        if (filling.num_rows() == 0) continue;
      } else if (filling.num_rows() == 0) {
        refuse(left);
      }
      ring_.hand_over();
    }
  }

  outcome finish(waker& w) override {
    if (const outcome o = ring_.finish(w); o.is_blocked()) return o;
    return writer_ ? writer_->flush(&w) : outcome::done();
  }

  runs::sorted_runs take() override {
    runs::sorted_runs out = std::move(finished_);
    if (writer_)
      for (runs::run& r : writer_->take()) out.runs.push_back(std::move(r));
    for (const runs::run& r : out.runs) out.num_rows += r.num_rows;
    runs::forget_first_rows_together(out.runs);
    ring_.take(out);
    to_blocks_.reset();
    writer_.reset();
    return out;
  }

 private:
  uint64_t bytes_of_stretch(const sizes::creator_sizes& sizes) const {
    const uint64_t halves = 2 * sizes.half_bytes;
    return (halves - std::min(halves, keys_share_)) / resources_.creating.runs_per_half / 2;
  }
  sizes::half_budget budget_with(uint64_t block_bytes) const {
    return {.memory_bytes = resources_.memory_bytes,
            .block_bytes = block_bytes,
            .compressed = resources_.coding.compresses(),
            .folds = settings_.folds(),
            .uncounted = resources_.creating.uncounted};
  }
  // For rows as long as this one, and those that take no longer blocks. One that is too long for any may still stay in
  // memory.
  stretch_room room_for(uint64_t row_bytes) const {
    const sizes::creator_sizes& usual_sizes = resources_.creating;
    const sizes::creator_sizes sizes =
        sizes::creator_for_rows(usual_sizes, {row_bytes, 0}, budget_with(usual_sizes.block_bytes));
    if (sizes.block_bytes > sizes.longest_block) return {room_.num_bytes, row_bytes, room_.alone};
    const uint64_t longest = sizes.block_bytes - sizes::block_header_bytes;
    const uint64_t usual = bytes_of_stretch(sizes);
    if (!room_.alone && usual >= longest + 2 * sizes::index_entry_bytes)
      return {std::min(room_.num_bytes, usual), longest, false};
    return {std::min(sizes::longest_rows_memory(budget_with(sizes.block_bytes)), sizes::longest_stretch), longest,
            true};
  }
  [[noreturn]] void refuse(const record::batch& in) const {
    throw error(
        error_kind::resources,
        fmt::format("{}a row of {} doesn't fit the {} that a piece of the sort's memory has", message_start(resources_),
                    format_bytes(rules_.rows.row_bytes() + rules_.rows.heap_bytes(in.row(0))),
                    format_bytes(room_.num_bytes)),
        "raise the memory budget (-m), or shorten the strings before the sort");
  }

  // A step in the background. done: the whole stretch is on its way to the disks.
  outcome write(row_stretch& h, uint64_t rows_taken, waker& w) {
    if (!begun_) {
      if (const outcome o = h.sorted(w); o.is_blocked()) return o;
      const uint64_t average = h.held_bytes() / std::max<size_t>(h.num_rows(), 1);
      if (const outcome o = fit_blocks({h.longest_row(), average}, w); o.is_blocked()) return o;
      begin(h);
    }
    for (;;) {
      if (resources_.cancelled && resources_.cancelled()) throw error(error_kind::cancelled, "the sort was cancelled");
      if (showing_) {
        if (const outcome o = to_blocks_->append(merged_, w); o.is_blocked()) return o;
        lanes_.pop();
        showing_ = false;
      }
      const outcome s = lanes_.merge([this](kernels::row_slice& slice) { return next_slice(slice); }, merged_, w);
      if (s.is_blocked()) return s;
      if (s.is_done()) break;
      showing_ = true;
      merged_ = merged_.first(std::min<uint64_t>(merged_.size(), rows_left_));
      rows_left_ -= merged_.size();
      if (!merged_.empty()) remember_last(merged_.back());
    }
    to_blocks_->end_block();
    writer_->mark(rows_taken);
    h.clear();
    begun_ = false;
    return outcome::done();
  }

  void begin(row_stretch& h) {
    left_ = h.pieces();
    row_place first = left_.front()[0];
    for (const kernels::row_span& piece : left_)
      if (rules_.compare(piece[0], first) < 0) first = piece[0];
    const int order = last_.empty() ? 1 : rules_.compare(rules_.rows.copied_key(last_.data()), first);
    const bool extends = writer_->has_run() && (settings_.unique ? order < 0 : order <= 0);
    if (!extends) writer_->begin_run();
    constexpr uint64_t index_bytes = sizeof(row_place);  // which is as long as the entry that held_bytes() counts
    const uint64_t average = h.held_bytes() / h.num_rows() - index_bytes;
    const uint64_t slice_bytes = std::clamp<uint64_t>(resources_.creating.half_bytes / 32, 4 * KiB, most_slice_bytes);
    stride_bytes_ = slice_bytes * average / (average + index_bytes) / left_.size();
    rows_left_ = settings_.limit > 0 ? settings_.limit : std::numeric_limits<uint64_t>::max();
    begun_ = true;
  }

  // Takes the next slice off the pieces: ready or done.
  outcome next_slice(kernels::row_slice& slice) {
    if (left_.empty() || rows_left_ == 0) return outcome::done();
    slices_.cut(left_, std::vector<bool>(left_.size(), true), std::nullopt, stride_bytes_, counts_);
    for (size_t i = 0; i < left_.size(); ++i) {
      if (counts_[i] == 0) continue;
      slice.parts.push_back(left_[i].first(counts_[i]));
      slice.num_rows += counts_[i];
      left_[i].drop(counts_[i]);
    }
    std::erase_if(left_, [](const kernels::row_span& piece) { return piece.num_rows == 0; });
    return outcome::ready();
  }

  // The next stretch may go on where this one ends, which is not worth a copy of a long key.
  void remember_last(const row_place& row) {
    if (rules_.rows.key_bytes(row.row) <= longest_last_key)
      rules_.rows.copy_key(row.row, row.heap, last_);
    else
      last_.clear();
  }

  [[noreturn]] void refuse_long(size_t longest, size_t needed) const {
    throw error(
        error_kind::resources,
        fmt::format("{}a row of {} is too long for a sort that merges blocks of {} at most", message_start(resources_),
                    format_bytes(longest), format_bytes(resources_.creating.longest_block)),
        fmt::format("raise the memory budget (-m) so that both halves of the sort get {} (see flowrun plan)",
                    format_bytes(sizes::least_merge_memory(budget_with(needed)))));
  }

  // Makes sure that each of these rows fits a block, and many of average length do. blocked: the blocks of the old size
  // are being written out.
  outcome fit_blocks(const sizes::row_lengths& rows, waker& w) {
    if (writer_ && rows.longest_bytes <= writer_->payload_bytes()) return outcome::ready();
    if (writer_) {
      if (const outcome o = writer_->flush(&w); o.is_blocked()) return o;
      for (runs::run& r : writer_->take()) finished_.runs.push_back(std::move(r));
      first_rows_left_ -= to_blocks_->first_rows_bytes();
      to_blocks_.reset();
      writer_.reset();
    }
    sizes_ = sizes::creator_for_rows(sizes_, rows, budget_with(sizes_.block_bytes));
    if (sizes_.block_bytes > sizes_.longest_block) refuse_long(rows.longest_bytes, sizes_.block_bytes);
    writer_.emplace(*resources_.blocks, sizes_.block_bytes, sizes_.write_buffers, resources_.coding);
    if (resources_.written) writer_->tell_of_written(resources_.written);
    if (!runs::know_first_rows(finished_.runs)) writer_->forget_first_rows();
    to_blocks_.emplace(*writer_, settings_.type, settings_.key, first_rows_left_);
    return outcome::ready();
  }

  const sort_settings settings_;
  const sort_resources resources_;
  const kernels::row_slices slices_;
  const uint64_t keys_share_;  // of the memory, for first keys of unbounded length
  const stretch_rules rules_;
  stretch_room room_;          // of stretches from now on
  bool room_shrinks_ = false;  // the next stretch is the first that has it
  // Of the writing; the owner touches them only while that is idle.
  sizes::creator_sizes sizes_;  // with blocks for the rows so far
  std::optional<runs::run_writer> writer_;
  std::optional<runs::row_writer> to_blocks_;
  uint64_t first_rows_left_;     // that the runs may still keep of their blocks' first rows
  runs::sorted_runs finished_;   // by writers of smaller blocks
  std::vector<std::byte> last_;  // the newest run's last row
  // Of the stretch being written, once it has begun.
  bool begun_ = false;
  std::vector<kernels::row_span> left_;  // of its pieces, to be merged
  size_t stride_bytes_ = 0;              // of each piece in a slice
  std::vector<size_t> counts_;           // rows of each piece in a slice
  uint64_t rows_left_ = 0;               // that a limit allows
  slice_lanes lanes_;                    // merge slices
  std::span<const row_place> merged_;    // of a slice, to be written
  bool showing_ = false;                 // merged_ is what the lanes handed out
  stretch_ring<row_stretch> ring_;
};

}  // namespace

std::unique_ptr<run_creator> make_wide_run_creator(const sort_settings& settings, const sort_resources& resources) {
  return std::make_unique<wide_run_creator>(settings, resources);
}

}  // namespace flowrun::sort
