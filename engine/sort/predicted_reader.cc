#include "engine/sort/predicted_reader.h"

#include <algorithm>

#include "engine/block/buffer_split.h"

namespace flowrun::sort {

predicted_reader::predicted_reader(block::block_manager& blocks, std::span<const run> runs,
                                   std::vector<predicted_block> sequence, const merger_memory& memory)
    : blocks_(blocks), sequence_(std::move(sequence)) {
  std::vector<block::fetch> wanted = fetches(runs, sequence_);
  ids_.reserve(wanted.size());
  for (const block::fetch& f : wanted) ids_.push_back(f.id);
  const uint64_t num_buffers = std::clamp<uint64_t>(memory.num_buffers, 1, std::max<size_t>(sequence_.size(), 1));
  block::prefetch_options options = memory.prefetch;
  options.free_after_read = true;
  // The merge holds up to a block of each run: reading ahead is left with the others (r of papers/000, section 5).
  if (options.scheduled_buffers == 0) {
    const uint64_t ahead = num_buffers - std::min<uint64_t>(runs.size(), num_buffers - 1);
    options.scheduled_buffers = static_cast<unsigned>(block::split_read_buffers(ahead, blocks.num_disks()));
  }
  prefetcher_ =
      std::make_unique<block::block_prefetcher>(blocks, std::move(wanted), static_cast<unsigned>(num_buffers), options);
}

predicted_reader::~predicted_reader() {
  prefetcher_.reset();
  for (; num_read_ < ids_.size(); ++num_read_) blocks_.free(ids_[num_read_]);
}

step predicted_reader::next(block::prefetched_block& out, waker* w) {
  const step s = prefetcher_->next(out, w);
  if (s == step::ready) ++num_read_;
  return s;
}

}  // namespace flowrun::sort
