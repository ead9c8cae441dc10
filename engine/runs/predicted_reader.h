// Reads the blocks of runs that are being merged, in the order σ in which the merge wants them (prediction.h).
//
// The blocks belong to the reader. Each is freed once it was handed out; those that were never asked for (a limit was
// reached, the job failed) are freed when the reader dies. So scratch space never outlives its merge.
//
// Compressed blocks are read ahead as they are stored, and made longer when they are handed out; so the merge holds
// decoded blocks only, and what was read is free again at once.
//
// σ is known as far as it is needed: a few times as many blocks as there are buffers, of which it takes about 70 bytes
// each. All else that stays of a block is its entry in the runs (run_blocks.h).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "engine/block/block_prefetcher.h"
#include "engine/block/prefetch_order.h"
#include "engine/runs/compressed_blocks.h"
#include "engine/runs/prediction.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sizes/sort_memory.h"

namespace flowrun::runs {

// The blocks in memory of one merge, and how it reads ahead.
struct reading_memory {
  unsigned num_buffers = 8;  // blocks in memory, all together
  unsigned lookahead = 2;    // of these, merged at a time beyond one per run
  block_coding coding;       // of the runs
  block::prefetch_options prefetch;
  // Decoded blocks that slices under way still hold when the merge has used them up may take so much beyond the
  // buffers.
  uint64_t beyond_bytes = sizes::uncounted_bytes().long_buffers;
};

// One thread at a time. The block manager outlives the reader.
class predicted_reader {
 public:
  // Starts reading. Uses all the buffers that `memory` grants: where there are fewer runs than it was divided for, the
  // rest reads further ahead. Up to k + 3D blocks ahead are needed to overlap reading with computation for any keys
  // (Asynchronous sorting, theorem 4). The runs outlive the reader and stay as they are, and so does what `less` looks
  // at.
  predicted_reader(block::block_manager& blocks, std::span<const run> runs, first_key_less less,
                   const reading_memory& memory);
  // Waits for the reads in flight.
  ~predicted_reader();
  predicted_reader(const predicted_reader&) = delete;
  predicted_reader& operator=(const predicted_reader&) = delete;

  // All blocks were handed out.
  bool exhausted() const { return ahead_.empty(); }
  // The one that next() will hand out. Not when exhausted.
  const predicted_block& upcoming() const { return ahead_.front(); }
  // As block_prefetcher::next(). Throws error(io).
  outcome next(block::prefetched_block& out, waker* w);

 private:
  outcome next_stored(block::prefetched_block& out, waker* w);
  outcome next_decoded(block::prefetched_block& out, waker* w);
  void look_ahead();

  block::block_manager& blocks_;
  const std::span<const run> runs_;
  prediction sigma_;
  std::deque<predicted_block> ahead_;  // what the prefetcher was told of, and has not handed out
  uint64_t num_read_ = 0;
  uint64_t num_buffers_ = 1;  // of the prefetcher
  std::optional<block::order_in_pieces> order_;
  std::unique_ptr<block::block_prefetcher> prefetcher_;
  std::optional<block_decoder> decoder_;  // of compressed blocks
};

}  // namespace flowrun::runs
