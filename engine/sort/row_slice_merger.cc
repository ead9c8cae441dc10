#include "engine/sort/row_slice_merger.h"

#include <algorithm>
#include <utility>

namespace flowrun::sort {

namespace {

using record::row_place;

// The first row of a block of the run with this number, as far as it was kept.
kernels::row_bound first_row(const runs::run& run, uint32_t number, uint32_t block, const kernels::row_slices& slices) {
  return {slices.rows().copied_key(run.first_rows.data() + run.blocks.first_row_at(block)), run.blocks.first(block),
          number};
}

}  // namespace

row_slice_merger::row_slice_merger(std::vector<runs::run> runs, runs::memory_runs in_memory,
                                   const sort_settings& settings, const sort_resources& resources,
                                   const merger_memory& memory, const kernels::row_slices& slices)
    : slices_(slices), row_bytes_(settings.type.row_bytes()), slice_bytes_(memory.slice_bytes), fronts_([&] {
        if (!runs::know_first_rows(runs))
          return runs::run_fronts<segment>(*resources.blocks, std::move(runs), memory.reading());
        const auto less = [&slices](const runs::run& a, uint32_t i, const runs::run& b, uint32_t j) {
          return slices.less(first_row(a, 0, i, slices), first_row(b, 0, j, slices));
        };
        return runs::run_fronts<segment>(*resources.blocks, std::move(runs), less, memory.reading());
      }()) {
  for (const std::shared_ptr<const runs::memory_run>& kept : in_memory) {
    const row_place arena{kept->rows.data(), kept->rows.data()};
    const auto* entries = reinterpret_cast<const record::word128*>(kept->entries.data());
    for (const runs::memory_run::part& part : kept->parts)
      if (part.num_words > 0)
        fronts_.add({{arena, entries + part.first, part.num_words, row_bytes_, fronts_.next_sequence()}, kept});
  }
}

kernels::row_slice row_slice_merger::take() {
  kernels::row_slice slice;
  for (size_t i = fronts_.num_active(); i-- > 0;) {
    if (counts_[i] == 0) continue;
    segment& front = fronts_.front(i);
    slice.parts.push_back(front.rows.first(counts_[i]));
    slice.owners.push_back(front.owner);
    slice.num_rows += counts_[i];
    fronts_.took(i, counts_[i]);
    front.rows.drop(counts_[i]);
    if (front.rows.num_rows == 0) fronts_.drop_front(i);
  }
  std::reverse(slice.parts.begin(), slice.parts.end());  // earlier runs first, for the order of equal keys
  return slice;
}

outcome row_slice_merger::next(kernels::row_slice& slice, waker& w) {
  const auto segment_of = [this](block::prefetched_block block, uint32_t run, uint32_t before) {
    const row_place front{block.payload() + before * size_t{row_bytes_}, block.payload()};
    return segment{{front, nullptr, block.header().num_rows - before, row_bytes_, run}, block.owner()};
  };
  for (;;) {
    const outcome loaded = fronts_.load(segment_of, w);
    if (fronts_.num_active() == 0 && loaded.is_done()) return loaded;
    if (fronts_.each_by_itself() && loaded.is_blocked()) return loaded;
    spans_.clear();
    ends_.clear();
    for (size_t i = 0; i < fronts_.num_active(); ++i) {
      spans_.push_back(fronts_.front(i).rows);
      ends_.push_back(fronts_.ends(i));
    }
    std::optional<kernels::row_bound> bound;
    if (const runs::predicted_block* const next = fronts_.upcoming())
      bound = first_row(fronts_.runs()[next->run], next->run, next->block, slices_);
    slices_.cut(spans_, ends_, bound, slice_bytes_ / std::max<size_t>(spans_.size(), 1), counts_);
    slice = take();
    if (slice.num_rows > 0) return outcome::ready();
    if (loaded.is_blocked()) return loaded;
    // All that is loaded comes after the next block's first row: it must be loaded.
  }
}

}  // namespace flowrun::sort
