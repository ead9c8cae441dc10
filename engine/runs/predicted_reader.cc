#include "engine/runs/predicted_reader.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::runs {

namespace {

// How the blocks in memory are divided: those that the merge holds, and those being read ahead.
struct buffer_counts {
  uint64_t num_held = 0;
  uint64_t num_ahead = 0;
};

// The merge holds up to a block of each run and some that it has begun with. What they leave is enough for more of the
// shorter blocks as they are stored.
buffer_counts divide_for_decoding(uint64_t num_runs, const reading_memory& memory, uint64_t block_bytes,
                                  uint64_t longest_stored) {
  buffer_counts counts;
  counts.num_held = std::min<uint64_t>(num_runs + memory.lookahead, memory.num_buffers);
  counts.num_ahead = std::max<uint64_t>((memory.num_buffers - counts.num_held) * block_bytes / longest_stored, 1);
  return counts;
}

}  // namespace

predicted_reader::predicted_reader(block::block_manager& blocks, std::span<const run> runs,
                                   std::vector<predicted_block> sequence, const reading_memory& memory)
    : blocks_(blocks), sequence_(std::move(sequence)) {
  std::vector<block::fetch> wanted = fetches(runs, sequence_);
  ids_.reserve(wanted.size());
  for (const block::fetch& f : wanted) ids_.push_back(f.id);
  const uint64_t most_buffers = std::max<size_t>(sequence_.size(), 1);
  uint64_t num_buffers = std::clamp<uint64_t>(memory.num_buffers, 1, most_buffers);
  // The merge holds up to a block of each run: reading ahead is left with the others (r of Asynchronous sorting,
  // section 5).
  uint64_t ahead = num_buffers - std::min<uint64_t>(runs.size(), num_buffers - 1);
  if (memory.coding.compresses()) {
    uint32_t longest = io_alignment, longest_stored = io_alignment;
    for (const run& r : runs) longest = std::max(longest, r.block_bytes);
    for (const block::block_id& id : ids_) longest_stored = std::max(longest_stored, id.num_bytes);
    const buffer_counts counts = divide_for_decoding(runs.size(), memory, longest, longest_stored);
    decoder_.emplace(memory.coding, longest, std::min(counts.num_held, most_buffers), memory.beyond_bytes / longest);
    num_buffers = ahead = std::min(counts.num_ahead, most_buffers);
  }
  block::prefetch_options options = memory.prefetch;
  if (options.scheduled_buffers == 0)
    options.scheduled_buffers = static_cast<unsigned>(sizes::split_read_buffers(ahead, blocks.num_disks()));
  block::prefetch_plan plan{block::prefetch_order(wanted, blocks.weights(), num_buffers, options), true};
  prefetcher_ = std::make_unique<block::block_prefetcher>(blocks, std::move(wanted), static_cast<unsigned>(num_buffers),
                                                          std::move(plan));
}

predicted_reader::~predicted_reader() {
  prefetcher_.reset();
  for (; num_read_ < ids_.size(); ++num_read_) blocks_.free(ids_[num_read_]);
}

outcome predicted_reader::next(block::prefetched_block& out, waker* w) {
  if (decoder_) return next_decoded(out, w);
  const outcome s = prefetcher_->next(out, w);
  if (s.is_ready()) ++num_read_;
  return s;
}

outcome predicted_reader::next_decoded(block::prefetched_block& out, waker* w) {
  out.reset();
  if (!decoder_->has_room(w)) return outcome::blocked(blocked_on::memory);
  block::prefetched_block stored;
  const outcome s = prefetcher_->next(stored, w);
  if (!s.is_ready()) return s;
  const block::block_id id = ids_[num_read_++];
  out = decoder_->decode(stored);
  if (out) return s;
  throw error(error_kind::io,
              fmt::format("scratch block damaged: {} at offset {}: block {} of run {} is intact, but can't be "
                          "decompressed",
                          blocks_.disk_path(id.disk), id.offset, stored.header().index, stored.header().stream),
              "the machine's memory may be failing: check it, and run the job again");
}

}  // namespace flowrun::runs
