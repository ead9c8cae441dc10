#include "engine/runs/predicted_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::runs {

namespace {

constexpr uint64_t least_piece = 16;  // of σ that is found at once

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

predicted_reader::predicted_reader(block::block_manager& blocks, std::span<const run> runs, first_key_less less,
                                   const reading_memory& memory)
    : blocks_(blocks), runs_(runs), sigma_(runs, std::move(less)) {
  block::sequence_extent whole;
  for (const run& r : runs) {
    whole.num_blocks += r.blocks.size();
    for (size_t i = 0; i < r.blocks.size(); ++i)
      whole.longest_block = std::max(whole.longest_block, r.blocks.id(i).num_bytes);
  }
  const uint64_t most_buffers = std::max<uint64_t>(whole.num_blocks, 1);
  num_buffers_ = std::clamp<uint64_t>(memory.num_buffers, 1, most_buffers);
  // The merge holds up to a block of each run: reading ahead is left with the others (r of Asynchronous sorting,
  // section 5).
  uint64_t ahead = num_buffers_ - std::min<uint64_t>(runs.size(), num_buffers_ - 1);
  if (memory.coding.compresses()) {
    uint32_t longest = io_alignment;
    for (const run& r : runs) longest = std::max(longest, r.block_bytes);
    const uint64_t longest_stored = std::max<uint64_t>(whole.longest_block, io_alignment);
    const buffer_counts counts = divide_for_decoding(runs.size(), memory, longest, longest_stored);
    decoder_.emplace(memory.coding, longest, std::min(counts.num_held, most_buffers), memory.beyond_bytes / longest);
    num_buffers_ = ahead = std::min(counts.num_ahead, most_buffers);
  }
  block::prefetch_options options = memory.prefetch;
  if (options.scheduled_buffers == 0)
    options.scheduled_buffers = static_cast<unsigned>(sizes::split_read_buffers(ahead, blocks.num_disks()));
  order_.emplace(blocks.weights(), num_buffers_, options);
  prefetcher_ = std::make_unique<block::block_prefetcher>(blocks, whole, static_cast<unsigned>(num_buffers_), true);
  look_ahead();
}

predicted_reader::~predicted_reader() {
  prefetcher_.reset();
  for (const predicted_block& p : ahead_) blocks_.free(runs_[p.run].blocks.id(p.block));
  for (const predicted_block& p : sigma_.fronts())
    for (size_t i = p.block; i < runs_[p.run].blocks.size(); ++i) blocks_.free(runs_[p.run].blocks.id(i));
}

// Tells the prefetcher of so many blocks that it has always one for a buffer that gets free: it may have begun with as
// many as it has buffers beyond those that were read, and so many again may follow before it is told of more.
void predicted_reader::look_ahead() {
  if (sigma_.done() || order_->num_decided() >= num_read_ + 2 * num_buffers_) return;
  const uint64_t piece = std::max({num_buffers_, order_->num_seen(), least_piece});
  const uint64_t wanted = num_read_ + 2 * num_buffers_ + piece + order_->num_seen();
  std::vector<block::fetch> fetches;
  std::vector<uint32_t> disks;
  for (uint64_t known = num_read_ + ahead_.size(); known < wanted && !sigma_.done(); ++known) {
    ahead_.emplace_back();  // before the block leaves σ, so that it is in one of both whatever happens
    ahead_.back() = sigma_.next();
    fetches.push_back(fetch_of(runs_, ahead_.back()));
    disks.push_back(fetches.back().id.disk);
  }
  prefetcher_->extend(fetches, order_->extend(disks, sigma_.done()));
}

outcome predicted_reader::next(block::prefetched_block& out, waker* w) {
  return decoder_ ? next_decoded(out, w) : next_stored(out, w);
}

outcome predicted_reader::next_stored(block::prefetched_block& out, waker* w) {
  const outcome s = prefetcher_->next(out, w);
  if (!s.is_ready()) return s;
  ahead_.pop_front();
  ++num_read_;
  look_ahead();
  return s;
}

outcome predicted_reader::next_decoded(block::prefetched_block& out, waker* w) {
  out.reset();
  if (!decoder_->has_room(w)) return outcome::blocked(blocked_on::memory);
  const predicted_block which = exhausted() ? predicted_block() : upcoming();
  block::prefetched_block stored;
  const outcome s = next_stored(stored, w);
  if (!s.is_ready()) return s;
  out = decoder_->decode(stored);
  if (out) return s;
  const block::block_id id = runs_[which.run].blocks.id(which.block);
  throw error(error_kind::io,
              fmt::format("scratch block damaged: {} at offset {}: block {} of run {} is intact, but can't be "
                          "decompressed",
                          blocks_.disk_path(id.disk), id.offset, stored.header().index, stored.header().stream),
              "the machine's memory may be failing: check it, and run the job again");
}

}  // namespace flowrun::runs
