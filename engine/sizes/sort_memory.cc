#include "engine/sizes/sort_memory.h"

#include <algorithm>
#include <limits>

#include "engine/sizes/batches_in_flight.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::sizes {

namespace {

constexpr uint64_t io_page = 4096;

// Beside those of the write-behind: where blocks are compressed, one is filled before it is coded into another.
uint64_t num_filled_buffers(const half_budget& budget) { return budget.compressed ? 1 : 0; }

// Of these write buffers, with the one beside them.
uint64_t buffers_bytes(const half_budget& budget, unsigned write_buffers, uint64_t block_bytes) {
  return (write_buffers + num_filled_buffers(budget)) * block_bytes;
}
// Half of what they leave.
uint64_t half_beside(const half_budget& budget, uint64_t buffers) {
  return (budget.memory_bytes - std::min(buffers, budget.memory_bytes)) / 2;
}

uint64_t num_held_rows(const half_budget& budget) { return budget.folds ? 2 : 0; }

// Of the longest rows: two runs, two write buffers, and what else there is.
uint64_t least_blocks(const half_budget& budget) { return 4 + (budget.compressed ? 2 : 0) + num_held_rows(budget); }

// A buffer for each run, and two to write with.
merger_sizes divide_among_the_longest(const half_budget& budget, merger_sizes out) {
  const uint64_t memory = budget.memory_bytes + std::min(budget.block_bytes, budget.uncounted.long_buffers);
  out.fits = budget.memory_bytes >= least_merge_memory(budget);
  out.slice_bytes = 4 * KiB;
  out.lookahead = 0;
  out.num_buffers = out.fits ? static_cast<unsigned>(memory / budget.block_bytes - (least_blocks(budget) - 2)) : 0;
  out.fan_in = out.num_buffers;
  out.write_buffers = 2;
  return out;
}

}  // namespace

creator_sizes divide_creator(const half_budget& budget, uint64_t merge_bytes, uint64_t kept_bytes) {
  creator_sizes out;
  out.block_bytes = static_cast<uint32_t>(budget.block_bytes);
  out.uncounted = budget.uncounted;
  const uint64_t most = std::max<uint64_t>(16, unhindered_write_buffers(budget.num_disks, budget.disk_depth));
  out.write_buffers =
      static_cast<unsigned>(std::clamp<uint64_t>(budget.memory_bytes / 8 / budget.block_bytes, 2, most));
  out.half_bytes = half_beside(budget, buffers_bytes(budget, out.write_buffers, budget.block_bytes));
  const auto longest = [&](uint64_t for_merging) {
    half_budget smaller = budget;
    smaller.memory_bytes = std::min(budget.memory_bytes, for_merging);
    return std::max(longest_merged_block(smaller) / io_page * io_page, budget.block_bytes);
  };
  out.longest_block = longest(merge_bytes + kept_bytes);
  out.longest_beside_kept = longest(merge_bytes);
  const uint64_t smaller_half = std::min(budget.memory_bytes, merge_bytes);
  out.comfortable_block = std::max(smaller_half / blocks_of_long_rows, budget.block_bytes) / 4;
  out.least_memory = least_sort_memory(budget.block_bytes);
  return out;
}

creator_sizes creator_for_rows(const creator_sizes& creator, const row_lengths& rows, const half_budget& budget) {
  creator_sizes out = creator;
  uint64_t needed = block_for_rows(rows, creator.block_bytes, creator.comfortable_block);
  if (needed == creator.block_bytes) return out;
  // A power of two may be more than can be merged where the row itself isn't.
  const uint64_t shortest = (rows.longest_bytes + block_header_bytes + io_page - 1) / io_page * io_page;
  if (needed > creator.longest_block && shortest <= creator.longest_block) needed = shortest;
  out.block_bytes = static_cast<uint32_t>(std::min<uint64_t>(needed, std::numeric_limits<uint32_t>::max()));
  out.write_buffers =
      static_cast<unsigned>(std::clamp<uint64_t>(budget.memory_bytes / 8 / needed, 2, creator.write_buffers));
  const uint64_t before = buffers_bytes(budget, creator.write_buffers, creator.block_bytes);
  const uint64_t buffers = buffers_bytes(budget, out.write_buffers, needed) + num_held_rows(budget) * needed;
  if (out.write_buffers * needed > budget.memory_bytes / 8 || buffers > before + budget.uncounted.long_buffers)
    out.half_bytes = std::min(out.half_bytes, half_beside(budget, buffers));
  out.least_memory = std::max(creator.least_memory, blocks_of_long_rows * needed);
  return out;
}

merger_sizes divide_merger(const half_budget& budget) {
  merger_sizes out;
  out.block_bytes = static_cast<uint32_t>(budget.block_bytes);
  out.uncounted = budget.uncounted;
  const uint64_t for_slices = budget.memory_bytes / 4;
  out.slice_bytes = std::clamp<uint64_t>(for_slices / tickets_in_flight(budget.threads) / 2, 4 * KiB, 1 * MiB);
  // Where blocks are long, two write buffers and what is held may take more than slices leave.
  const uint64_t taken = (budget.threads + 1) * out.slice_bytes + num_filled_buffers(budget) * budget.block_bytes;
  const uint64_t beside = taken + (2 + num_held_rows(budget)) * budget.block_bytes;
  const uint64_t beyond = beside - std::min(beside, for_slices + budget.uncounted.long_buffers);
  constexpr uint64_t most_buffers = 1U << 20;
  const uint64_t for_blocks = budget.memory_bytes - std::min(budget.memory_bytes, for_slices + beyond);
  const uint64_t total = std::min(for_blocks / budget.block_bytes, most_buffers);
  const uint64_t ahead = std::clamp<uint64_t>(total / 4, 2, std::max<uint64_t>(16, uint64_t{4} * budget.num_disks));
  out.num_buffers = static_cast<unsigned>(total);
  out.fits = total >= out.lookahead + ahead + 2;
  if (!out.fits) return divide_among_the_longest(budget, out);
  out.fan_in = total - out.lookahead - ahead;
  const uint64_t spare = for_slices - std::min(for_slices, taken);
  out.write_buffers = static_cast<unsigned>(std::clamp<uint64_t>(
      spare / budget.block_bytes, 2, unhindered_write_buffers(budget.num_disks, budget.disk_depth)));
  return out;
}

uint64_t least_merge_memory(const half_budget& budget) {
  return least_blocks(budget) * budget.block_bytes - std::min(budget.block_bytes, budget.uncounted.long_buffers);
}

uint64_t longest_merged_block(const half_budget& budget) {
  const uint64_t blocks = least_blocks(budget);
  const uint64_t short_ones = budget.memory_bytes / (blocks - 1);
  return short_ones <= budget.uncounted.long_buffers ? short_ones
                                                     : (budget.memory_bytes + budget.uncounted.long_buffers) / blocks;
}

uint64_t longest_rows_memory(const half_budget& budget) {
  const uint64_t beside = buffers_bytes(budget, 2, budget.block_bytes) + num_held_rows(budget) * budget.block_bytes -
                          std::min(budget.block_bytes, budget.uncounted.long_buffers);
  return budget.memory_bytes - std::min(budget.memory_bytes, beside);
}

}  // namespace flowrun::sizes
