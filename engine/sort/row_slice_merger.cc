#include "engine/sort/row_slice_merger.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace flowrun::sort {

namespace {

using record::row_place;

// The first row of a block, as far as it was kept.
kernels::row_bound first_row(const std::vector<runs::run>& runs, const runs::predicted_block& p) {
  const runs::run_block& b = runs[p.run].blocks[p.block];
  const std::byte* kept = runs[p.run].first_rows.data() + b.first_row_at;
  return {{kept, kept}, b.first, p.run};
}

std::vector<runs::predicted_block> predict_rows(const std::vector<runs::run>& runs, const kernels::row_slices& slices) {
  return runs::predict(runs, [&](const runs::predicted_block& a, const runs::predicted_block& b) {
    return slices.less(first_row(runs, a), first_row(runs, b));
  });
}

}  // namespace

row_slice_merger::row_slice_merger(std::vector<runs::run> runs, runs::memory_runs in_memory,
                                   const sort_settings& settings, const sort_resources& resources,
                                   const merger_memory& memory, const kernels::row_slices& slices)
    : slices_(slices),
      runs_(std::move(runs)),
      row_bytes_(settings.type.row_bytes()),
      loaded_(runs_.size()),
      blocks_left_(runs_.size()),
      max_loaded_(runs_.size() + memory.lookahead),
      slice_bytes_(memory.slice_bytes),
      reader_(*resources.blocks, runs_, predict_rows(runs_, slices), memory.reading()) {
  for (size_t r = 0; r < runs_.size(); ++r) blocks_left_[r] = runs_[r].blocks.size();
  for (const std::shared_ptr<const runs::memory_run>& kept : in_memory) {
    const row_place arena{kept->rows.data(), kept->rows.data()};
    const auto* entries = reinterpret_cast<const record::word128*>(kept->entries.data());
    for (const runs::memory_run::part& part : kept->parts) {
      if (part.num_words == 0) continue;
      active_.push_back(static_cast<uint32_t>(loaded_.size()));
      loaded_.emplace_back().push_back(
          {{arena, entries + part.first, part.num_words, row_bytes_, active_.back()}, kept});
    }
  }
}

void row_slice_merger::load(block::prefetched_block block, const runs::predicted_block& which) {
  const uint32_t r = which.run;
  FLOWRUN_CHECK(block.header().stream == runs_[r].stream && block.header().index == which.block);
  if (loaded_[r].empty()) active_.insert(std::lower_bound(active_.begin(), active_.end(), r), r);
  const row_place front{block.payload(), block.payload()};
  loaded_[r].push_back({{front, nullptr, block.header().num_rows, row_bytes_, r}, block.owner()});
  --blocks_left_[r];
  ++num_loaded_;
}

step row_slice_merger::next(kernels::row_slice& slice, waker& w) {
  for (;;) {
    bool waits = false;
    while (!reader_.exhausted() && num_loaded_ < max_loaded_) {
      const runs::predicted_block which = reader_.upcoming();
      block::prefetched_block block;
      if (!reader_.next(block, &w).is_ready()) {
        waits = true;
        break;
      }
      load(std::move(block), which);
    }
    if (active_.empty() && !waits) return outcome::done();
    fronts_.clear();
    ends_.clear();
    for (const uint32_t r : active_) {
      fronts_.push_back(loaded_[r].front().rows);
      ends_.push_back(loaded_[r].size() == 1 && (r >= runs_.size() || blocks_left_[r] == 0));
    }
    std::optional<kernels::row_bound> bound;
    if (!reader_.exhausted()) bound = first_row(runs_, reader_.upcoming());
    slices_.cut(fronts_, ends_, bound, slice_bytes_ / std::max<size_t>(active_.size(), 1), counts_);

    kernels::row_slice taken;
    for (size_t i = active_.size(); i-- > 0;) {
      if (counts_[i] == 0) continue;
      const uint32_t r = active_[i];
      segment& front = loaded_[r].front();
      taken.parts.push_back(front.rows.first(counts_[i]));
      taken.owners.push_back(front.owner);
      taken.num_rows += counts_[i];
      front.rows.drop(counts_[i]);
      if (front.rows.num_rows > 0) continue;
      loaded_[r].pop_front();
      if (r < runs_.size()) --num_loaded_;
      if (loaded_[r].empty()) active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (taken.num_rows == 0) {
      if (waits) return step::blocked;
      continue;  // all that is loaded comes after the next block's first row: it must be loaded
    }
    std::reverse(taken.parts.begin(), taken.parts.end());  // earlier runs first, for the order of equal keys
    slice = std::move(taken);
    return outcome::ready();
  }
}

}  // namespace flowrun::sort
