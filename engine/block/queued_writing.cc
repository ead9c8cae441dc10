// The greedy rule of queued writing; see queued_writing.h.
#include "engine/block/queued_writing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/block/disk_queues.h"

namespace flowrun::block {

io_schedule queued_writing(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers) {
  return queued_writing(disks, std::vector<uint64_t>(num_disks, 1), num_buffers);
}

io_schedule queued_writing(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                           uint64_t num_buffers) {
  constexpr uint64_t idle = std::numeric_limits<uint64_t>::max();
  FLOWRUN_CHECK(num_buffers > 0);
  for (uint64_t ticks : ticks_per_block) FLOWRUN_CHECK(ticks > 0);
  const auto num_disks = static_cast<unsigned>(ticks_per_block.size());

  io_schedule result;
  result.order.reserve(disks.size());
  result.step.reserve(disks.size());
  disk_queues waiting(num_disks, disks.size());
  std::vector<uint64_t> busy_until(num_disks, idle);
  uint64_t num_arrived = 0, num_buffered = 0;
  for (uint64_t now = 0; now != idle;) {
    for (; num_arrived < disks.size() && num_buffered < num_buffers; ++num_arrived, ++num_buffered) {
      if (disks[num_arrived] == no_disk) continue;
      FLOWRUN_CHECK(disks[num_arrived] < num_disks);
      waiting.push(disks[num_arrived], num_arrived);
    }
    const auto first_started = static_cast<std::ptrdiff_t>(result.order.size());
    uint64_t next_end = idle;
    for (unsigned disk = 0; disk < num_disks; ++disk) {
      if (busy_until[disk] == idle && !waiting.empty(disk)) {
        result.order.push_back(waiting.pop(disk));
        result.step.push_back(now);
        busy_until[disk] = now + ticks_per_block[disk];
      }
      next_end = std::min(next_end, busy_until[disk]);
    }
    std::sort(result.order.begin() + first_started, result.order.end());

    if (next_end == idle) result.num_steps = now;
    now = next_end;
    for (uint64_t& end : busy_until) {
      if (now == idle || end != now) continue;
      end = idle;
      --num_buffered;
    }
  }
  FLOWRUN_CHECK(num_arrived == disks.size());  // else all buffers hold blocks that have no disk
  return result;
}

std::vector<uint64_t> ticks_of_weights(std::span<const double> weights) {
  double fastest = 0, slowest = std::numeric_limits<double>::infinity();
  for (double weight : weights) {
    FLOWRUN_CHECK(std::isfinite(weight) && weight >= 0);
    fastest = std::max(fastest, weight);
    if (weight > 0) slowest = std::min(slowest, weight);
  }
  FLOWRUN_CHECK(fastest > 0);
  constexpr double slowest_ticks = 1e9;  // keeps sums of millions of blocks below 2^63
  std::vector<uint64_t> ticks;
  for (double weight : weights) {
    const double slower = fastest / (weight > 0 ? weight : slowest);
    ticks.push_back(slowest == fastest ? 1 : static_cast<uint64_t>(std::min(std::round(1000 * slower), slowest_ticks)));
  }
  return ticks;
}

}  // namespace flowrun::block
