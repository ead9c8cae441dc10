// What a sort is asked for and what it may use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/resumable.h"
#include "engine/block/block_manager.h"
#include "engine/block/prefetch_order.h"
#include "engine/record/batch.h"
#include "engine/record/key.h"
#include "engine/record/row_codec.h"
#include "engine/runs/block_codec.h"
#include "engine/runs/sorted_runs.h"
#include "engine/sizes/sort_memory.h"
#include "engine/sort/row_combiner.h"

namespace flowrun::sort {

struct sort_settings {
  record::row_type type;
  record::key key;
  bool stable = false;  // equal keys keep input order; else their order is a function of the rows as they come
  bool unique = false;  // only the first row of each key
  uint64_t limit = 0;   // only the first `limit` rows of the result; 0: all
  bool force_spill = false;
  // Makes one row of rows with equal keys, as far as they meet on their way through scratch; the caller, who takes the
  // result, combines the rest. Not with unique. With it, the result has at least the rows of the first `limit` keys
  // where the runs are made in halves; long runs and the merger need a limit of 0.
  std::shared_ptr<const row_combiner> combiner;
  bool long_runs = false;  // runs of twice the memory instead of half of it; only where narrow()

  // Rows of equal keys become one, wherever they meet.
  bool folds() const { return unique || combiner != nullptr; }
  // Narrow: whole rows are sorted as numbers. Where input order matters, rows go by index instead.
  bool narrow() const {
    if (!record::row_codec::fits(type) || stable) return false;
    return !unique || record::row_codec(type, key).key_bits() == 8 * type.row_bytes();
  }
};

// All pointers outlive the sort.
struct sort_resources {
  block::block_manager* blocks = nullptr;
  record::batch_pool* pool = nullptr;
  task_poster post;                 // runs the sorting and writing of a full half beside the caller
  std::function<bool()> cancelled;  // long work looks at it, and throws error(cancelled)
  uint64_t memory_bytes = 0;        // of the creator or the merger
  sizes::creator_sizes creating;    // how the creator divides it
  sizes::merger_sizes merging;      // how the merger does
  uint64_t kept_bytes = 0;          // of the creator: a last half that takes no more than this stays in memory
  unsigned threads = 1;
  runs::block_coding coding;         // of the runs' blocks, the same for creator and merger
  std::string node;                  // that sorts, for messages; may be empty
  block::prefetch_options prefetch;  // of a merger: how it reads ahead
  // Of a creator whose runs another process may have to go on with; may be empty. Told that the first `rows_taken` rows
  // are in runs on the disks, and of the blocks that came to these since the call before. From the thread that writes.
  std::function<void(uint64_t rows_taken, std::vector<runs::run> blocks)> written;
  bool keeps_none_once_spilled = false;  // of a creator: what stays in memory is all rows or none
  // Of a merger whose runs another process may have to go on with; may be empty. Told that an intermediate merge has
  // made `made`, which is on the disks, of the neighbouring runs with these streams.
  std::function<void(const std::vector<uint64_t>& streams, const runs::run& made)> merged;
};

// "node 'by_key': ", for messages.
inline std::string message_start(const sort_resources& resources) {
  return resources.node.empty() ? std::string() : "node '" + resources.node + "': ";
}

}  // namespace flowrun::sort
