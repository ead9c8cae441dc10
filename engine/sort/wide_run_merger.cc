// The merger of rows that are sorted by index: by slices (row_slice_merger.h), or, where rows are long or runs many for
// the memory that slices in flight may take, by a loser tree (row_merger.h). Intermediate merges always go by slices.

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/kernels/row_gather.h"
#include "engine/sort/intermediate_merges.h"
#include "engine/sort/row_merger.h"
#include "engine/sort/row_slice_merger.h"
#include "engine/sort/run_merger_kinds.h"
#include "engine/sort/wide_intermediate_merge.h"

namespace flowrun::sort {

namespace {

using record::word128;

sort_resources with_what_is_not_kept(sort_resources resources, const runs::sorted_runs& runs) {
  const bool has_kept =
      std::any_of(runs.in_memory.begin(), runs.in_memory.end(), [](const auto& kept) { return kept->num_rows > 0; });
  if (!has_kept) resources.memory_bytes += resources.merging.kept_bytes;
  return resources;
}

class wide_run_merger final : public run_merger {
 public:
  wide_run_merger(const sort_settings& settings, const sort_resources& resources, runs::sorted_runs runs,
                  size_t batch_bytes)
      : settings_(settings),
        resources_(with_what_is_not_kept(resources, runs)),
        runs_(std::move(runs)),
        slices_(settings_.type, settings_.key),
        gather_(settings_.type, *resources.pool, batch_bytes),
        builder_(settings_.type, *resources.pool, record::rows_of_any_length(batch_bytes)) {
    uint64_t num_bytes = 0, num_rows = 0;  // on scratch
    if (!runs_.runs.empty()) {
      block_bytes_ = resources.merging.block_bytes;
      std::vector<uint64_t> sizes;
      for (const runs::run& r : runs_.runs) {
        sizes.push_back(r.blocks.size());
        num_rows += r.num_rows;
        num_bytes += r.blocks.size() * r.block_bytes;
        block_bytes_ = std::max(block_bytes_, r.block_bytes);
      }
      memory_ = divide_memory();
      const auto begin = [this](std::vector<runs::run> merged) {
        return std::make_unique<wide_intermediate_merge>(std::move(merged), settings_, resources_, memory_,
                                                         block_bytes_, slices_);
      };
      first_merges_.emplace(sizes, memory_.fan_in, begin, resources_.merged);
      fan_in_ = std::min<uint64_t>(sizes.size(), memory_.fan_in) + runs_.in_memory.size();
    } else {
      memory_.slice_bytes = resources.merging.slice_bytes;
    }
    // A slice wants a few rows of each run, and an index beside them. Rows for which that is too much, which take their
    // time anyway, go through the loser tree.
    const uint64_t average = num_rows == 0 ? settings_.type.row_bytes() : num_bytes / num_rows + 1;
    const uint64_t sequences = std::min<uint64_t>(runs_.runs.size(), memory_.fan_in) + runs::num_parts(runs_.in_memory);
    memory_.slice_bytes = memory_.slice_bytes * average / (average + index_bytes);
    by_slices_ = has_several(runs_) && memory_.slice_bytes / std::max<uint64_t>(sequences, 1) >= least_rows * average;
  }

  outcome pull(std::vector<merge_part>& out, waker& w) override {
    if (settings_.limit > 0 && !settings_.unique && emitted_ >= settings_.limit) return outcome::done();
    if (!has_several(runs_) && !merging_) return pull_memory(out);
    if (first_merges_ && !first_merges_->done()) return first_merges_->advance(runs_.runs, w);
    if (!std::exchange(merging_, true)) by_slices_ |= !runs::know_first_rows(runs_.runs);
    return by_slices_ ? pull_slice(out, w) : pull_rows(out, w);
  }

  // A part is a slice, to be sorted and gathered, or whole rows.
  void refine(const merge_part& part, std::vector<record::batch>& out) const override {
    if (const auto* const rows = std::get_if<record::batch>(&part)) return out.push_back(*rows);
    const auto& slice = std::get<kernels::row_slice>(part);
    thread_local std::vector<record::row_place> places;  // new pages for each slice would take their time
    slices_.merge(slice.parts, settings_.unique && slice.parts.size() > 1, places);
    gather_(places, out);
  }

  runs::merge_position position() const override {
    if (slice_merger_) return slice_merger_->position();
    return merger_ ? merger_->position() : runs::merge_position();
  }
  uint64_t fan_in() const override { return fan_in_; }
  uint64_t merge_passes() const override { return first_merges_ ? first_merges_->passes() : 0; }

 private:
  static constexpr uint64_t index_bytes = 16;  // of a row in a slice: its place
  static constexpr uint64_t least_rows = 4;    // of each run in a slice
  static constexpr size_t few_rows = 16;
  static constexpr size_t long_row = 1 * KiB;

  // What is known of the runs' blocks takes a part of the memory. First rows that would take much, or what the merge
  // needs at least, are forgotten.
  merger_memory divide_memory() {
    uint64_t entries = 0, first_rows = 0;
    for (const runs::run& r : runs_.runs) {
      entries += r.blocks.num_bytes();
      first_rows += r.first_rows.size();
    }
    const uint64_t least = sizes::least_merge_memory({.block_bytes = block_bytes_,
                                                      .compressed = resources_.coding.compresses(),
                                                      .folds = settings_.folds(),
                                                      .uncounted = resources_.merging.uncounted});
    const uint64_t beside = resources_.memory_bytes - std::min(resources_.memory_bytes, least);
    if (first_rows > resources_.memory_bytes / 4 + resources_.merging.uncounted.first_keys ||
        entries + first_rows > beside + resources_.merging.uncounted.first_keys)
      for (runs::run& r : runs_.runs) r.forget_first_rows();
    const bool foretold = runs::know_first_rows(runs_.runs);
    merger_memory out = memory_of(resources_, block_bytes_, entries + (foretold ? first_rows : 0), settings_.folds());
    // Each run that is read by itself has a block as it is stored beside the one that was decoded.
    if (!foretold && resources_.coding.compresses())
      out.fan_in = std::clamp<uint64_t>(out.num_buffers / 2, 2, out.fan_in);
    return out;
  }

  static bool has_several(const runs::sorted_runs& runs) {
    return !runs.runs.empty() || runs::num_parts(runs.in_memory) > 1;
  }

  outcome pull_slice(std::vector<merge_part>& out, waker& w) {
    if (!slice_merger_)
      slice_merger_.emplace(std::exchange(runs_.runs, {}), std::exchange(runs_.in_memory, {}), settings_, resources_,
                            memory_, slices_);
    kernels::row_slice slice;
    const outcome s = slice_merger_->next(slice, w);
    if (s.is_ready()) emit(std::move(slice), out);
    return s;
  }

  outcome pull_rows(std::vector<merge_part>& out, waker& w) {
    if (!merger_)
      merger_.emplace(std::exchange(runs_.runs, {}), std::exchange(runs_.in_memory, {}), settings_, resources_,
                      memory_);
    while (!builder_.full()) {
      row_merger::row_view row;
      const outcome s = merger_->next(row, w);
      if (s.is_ready()) {
        builder_.append_row(row.row, row.heap);
        continue;
      }
      if (builder_.empty()) return s;
      break;
    }
    emitted_ += builder_.num_rows();
    out.push_back(builder_.take());
    return outcome::ready();
  }

  // All there is lies sorted in memory: slices of one part.
  outcome pull_memory(std::vector<merge_part>& out) {
    if (runs::num_parts(runs_.in_memory) == 0) return outcome::done();
    const runs::memory_run& kept = *runs_.in_memory.front();
    kernels::row_span left{{kept.rows.data(), kept.rows.data()},
                           reinterpret_cast<const word128*>(kept.entries.data()) + emitted_,
                           std::min<size_t>(gather_.batch_rows(), kept.num_rows - emitted_),
                           settings_.type.row_bytes(),
                           0};
    if (left.num_rows == 0) return outcome::done();
    if (kept.rows.num_bytes() / kept.num_rows >= long_row) left = left.first(rows_within_slice(left));
    const size_t count = left.num_rows;
    kernels::row_slice slice;
    slice.parts.push_back(left);
    slice.owners.push_back(runs_.in_memory.front());
    slice.num_rows = count;
    emit(std::move(slice), out);
    return outcome::ready();
  }

  // Of rows that are long on the average: how many of them fit a slice with their strings, at least one.
  size_t rows_within_slice(const kernels::row_span& rows) const {
    uint64_t num_bytes = 0;
    for (size_t i = 0; i < rows.num_rows; ++i) {
      num_bytes += rows.row_bytes + slices_.rows().heap_bytes(rows[i].row);
      if (num_bytes > resources_.merging.slice_bytes) return std::max<size_t>(i, 1);
    }
    return rows.num_rows;
  }

  void emit(kernels::row_slice slice, std::vector<merge_part>& out) {
    if (slice.num_rows <= few_rows && slices_.rows().has_strings())
      for (const kernels::row_span& part : slice.parts)
        for (size_t i = 0; i < part.num_rows; ++i) slice.text_bytes += slices_.rows().heap_bytes(part[i].row);
    emitted_ += slice.num_rows;
    out.push_back(std::move(slice));
  }

  const sort_settings settings_;
  const sort_resources resources_;
  runs::sorted_runs runs_;
  const kernels::row_slices slices_;
  const kernels::row_gather gather_;
  record::batch_builder builder_;
  uint32_t block_bytes_ = 0;  // the longest of all runs' blocks
  merger_memory memory_;
  uint64_t fan_in_ = 0;
  uint64_t emitted_ = 0;
  bool by_slices_ = false;                           // the last merge
  bool merging_ = false;                             // that one has begun
  std::optional<intermediate_merges> first_merges_;  // where there are runs
  std::optional<row_slice_merger> slice_merger_;
  std::optional<row_merger> merger_;
};

}  // namespace

std::unique_ptr<run_merger> make_wide_run_merger(const sort_settings& settings, const sort_resources& resources,
                                                 runs::sorted_runs runs, size_t batch_bytes) {
  return std::make_unique<wide_run_merger>(settings, resources, std::move(runs), batch_bytes);
}

}  // namespace flowrun::sort
