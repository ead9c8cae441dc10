#include "engine/block/prefetch_order.h"

#include <algorithm>

#include "engine/block/prefetch_schedule.h"
#include "engine/sizes/buffer_split.h"

namespace flowrun::block {

namespace {

// 0: the order is that of the sequence itself.
uint64_t scheduled_buffers(size_t num_disks, uint64_t num_buffers, const prefetch_options& options) {
  if (num_disks < 2 || options.order == fetch_order::predicted) return 0;
  const auto disks = static_cast<unsigned>(num_disks);
  const uint64_t wanted =
      options.scheduled_buffers > 0 ? options.scheduled_buffers : sizes::split_read_buffers(num_buffers, disks);
  return std::min(wanted, num_buffers);
}

}  // namespace

std::vector<uint64_t> prefetch_order(std::span<const fetch> sequence, std::span<const double> weights,
                                     uint64_t num_buffers, const prefetch_options& options) {
  num_buffers = std::min<uint64_t>(num_buffers, sequence.size());
  const uint64_t scheduled = scheduled_buffers(weights.size(), num_buffers, options);
  if (scheduled == 0 || sequence.size() < 2) return {};
  std::vector<uint32_t> disks;
  disks.reserve(sequence.size());
  for (const fetch& one : sequence) disks.push_back(one.id.disk);
  return optimal_schedule(disks, ticks_of_weights(weights), scheduled).order;
}

order_in_pieces::order_in_pieces(std::span<const double> weights, uint64_t num_buffers, const prefetch_options& options)
    : scheduled_(scheduled_buffers(weights.size(), num_buffers, options)),
      ticks_(scheduled_ == 0 ? std::vector<uint64_t>() : ticks_of_weights(weights)) {}

std::vector<uint64_t> order_in_pieces::extend(std::span<const uint32_t> disks, bool is_last) {
  if (is_that_of_sequence()) {
    num_decided_ += disks.size();
    return {};
  }
  disks_.insert(disks_.end(), disks.begin(), disks.end());
  const uint64_t num_seen_only = is_last ? 0 : num_seen();
  if (disks_.size() <= num_seen_only) return {};
  const uint64_t piece = disks_.size() - num_seen_only;
  auto num_open = static_cast<uint64_t>(std::count_if(
      disks_.begin(), disks_.begin() + static_cast<std::ptrdiff_t>(piece), [](uint32_t d) { return d != no_disk; }));
  std::vector<uint64_t> order = optimal_schedule(disks_, ticks_, scheduled_).order;
  size_t count = 0;
  for (; num_open > 0; ++count) {
    num_open -= order[count] < piece ? 1 : 0;
    disks_[order[count]] = no_disk;
  }
  order.resize(count);
  for (uint64_t& position : order) position += num_decided_;
  disks_.erase(disks_.begin(), disks_.begin() + static_cast<std::ptrdiff_t>(piece));
  num_decided_ += piece;
  return order;
}

}  // namespace flowrun::block
