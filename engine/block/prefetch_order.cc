#include "engine/block/prefetch_order.h"

#include <algorithm>

#include "engine/block/prefetch_schedule.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::block {

std::vector<uint64_t> prefetch_order(std::span<const fetch> sequence, std::span<const double> weights,
                                     uint64_t num_buffers, const prefetch_options& options) {
  const auto num_disks = static_cast<unsigned>(weights.size());
  if (num_disks < 2 || sequence.size() < 2 || options.order == fetch_order::predicted) return {};
  num_buffers = std::min<uint64_t>(num_buffers, sequence.size());
  const uint64_t scheduled =
      options.scheduled_buffers > 0 ? options.scheduled_buffers : sizes::split_read_buffers(num_buffers, num_disks);
  std::vector<uint32_t> disks;
  disks.reserve(sequence.size());
  for (const fetch& one : sequence) disks.push_back(one.id.disk);
  return optimal_schedule(disks, ticks_of_weights(weights), std::min(scheduled, num_buffers)).order;
}

}  // namespace flowrun::block
