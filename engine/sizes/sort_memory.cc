#include "engine/sizes/sort_memory.h"

#include <algorithm>
#include <limits>

#include "engine/sizes/batches_in_flight.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::sizes {

namespace {

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

}  // namespace

creator_sizes divide_creator(const half_budget& budget, uint64_t merge_bytes) {
  creator_sizes out;
  out.block_bytes = static_cast<uint32_t>(budget.block_bytes);
  const uint64_t most = std::max<uint64_t>(16, unhindered_write_buffers(budget.num_disks, budget.disk_depth));
  out.write_buffers =
      static_cast<unsigned>(std::clamp<uint64_t>(budget.memory_bytes / 8 / budget.block_bytes, 2, most));
  out.half_bytes = half_beside(budget, buffers_bytes(budget, out.write_buffers, budget.block_bytes));
  out.longest_block =
      std::max(std::min(budget.memory_bytes, merge_bytes) / blocks_of_the_longest_rows, budget.block_bytes);
  out.least_memory = least_sort_memory(budget.block_bytes);
  return out;
}

creator_sizes creator_for_rows(const creator_sizes& creator, const row_lengths& rows, const half_budget& budget) {
  creator_sizes out = creator;
  const uint64_t needed = block_for_rows(rows, creator.block_bytes, creator.longest_block);
  if (needed == creator.block_bytes) return out;
  out.block_bytes = static_cast<uint32_t>(std::min<uint64_t>(needed, std::numeric_limits<uint32_t>::max()));
  out.write_buffers =
      static_cast<unsigned>(std::clamp<uint64_t>(budget.memory_bytes / 8 / needed, 2, creator.write_buffers));
  const uint64_t before = buffers_bytes(budget, creator.write_buffers, creator.block_bytes);
  const uint64_t buffers = buffers_bytes(budget, out.write_buffers, needed);
  if (out.write_buffers * needed > budget.memory_bytes / 8 || buffers > before + long_buffers_allowance)
    out.half_bytes = std::min(out.half_bytes, half_beside(budget, buffers));
  out.least_memory = std::max(creator.least_memory, least_merge_memory(needed));
  return out;
}

merger_sizes divide_merger(const half_budget& budget) {
  merger_sizes out;
  out.block_bytes = static_cast<uint32_t>(budget.block_bytes);
  const uint64_t for_slices = budget.memory_bytes / 4;
  out.slice_bytes = std::clamp<uint64_t>(for_slices / tickets_in_flight(budget.threads) / 2, 4 * KiB, 1 * MiB);
  constexpr uint64_t most_buffers = 1U << 20;
  const uint64_t total = std::min((budget.memory_bytes - for_slices) / budget.block_bytes, most_buffers);
  const uint64_t ahead = std::clamp<uint64_t>(total / 4, 2, std::max<uint64_t>(16, uint64_t{4} * budget.num_disks));
  out.num_buffers = static_cast<unsigned>(total);
  out.fits = total >= out.lookahead + ahead + 2;
  if (out.fits) out.fan_in = total - out.lookahead - ahead;
  const uint64_t taken = (budget.threads + 1) * out.slice_bytes + num_filled_buffers(budget) * budget.block_bytes;
  const uint64_t spare = for_slices - std::min(for_slices, taken);
  out.write_buffers = static_cast<unsigned>(std::clamp<uint64_t>(
      spare / budget.block_bytes, 2, unhindered_write_buffers(budget.num_disks, budget.disk_depth)));
  return out;
}

}  // namespace flowrun::sizes
