// Prefetch schedules by duality with queued writing; see prefetch_schedule.h.
#include "engine/block/prefetch_schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/block/disk_queues.h"

namespace flowrun::block {

namespace {

std::vector<uint64_t> one_tick_each(unsigned num_disks) { return std::vector<uint64_t>(num_disks, 1); }

}  // namespace

std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        unsigned num_disks, uint64_t num_buffers) {
  return simulate_fetching(order, disks, one_tick_each(num_disks), num_buffers);
}

std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        std::span<const uint64_t> ticks_per_block, uint64_t num_buffers) {
  constexpr uint64_t idle = std::numeric_limits<uint64_t>::max();
  FLOWRUN_CHECK(num_buffers > 0 && order.size() == disks.size());
  for (uint64_t ticks : ticks_per_block) FLOWRUN_CHECK(ticks > 0);
  const auto num_disks = static_cast<unsigned>(ticks_per_block.size());

  std::vector<uint64_t> starts(order.size());
  disk_queues queues(num_disks, order.size());     // indices into `order`
  std::vector<bool> fetched(order.size(), false);  // by position in σ
  std::vector<uint64_t> busy_until(num_disks, idle), in_flight(num_disks);
  uint64_t num_issued = 0, num_consumed = 0;
  for (uint64_t now = 0; num_consumed < order.size();) {
    for (; num_issued < order.size() && num_issued - num_consumed < num_buffers; ++num_issued) {
      FLOWRUN_CHECK(order[num_issued] < disks.size() && disks[order[num_issued]] < num_disks);
      queues.push(disks[order[num_issued]], num_issued);
    }
    uint64_t next_end = idle;
    for (unsigned disk = 0; disk < num_disks; ++disk) {
      if (busy_until[disk] == idle && !queues.empty(disk)) {
        const uint64_t started = queues.pop(disk);
        starts[started] = now;
        in_flight[disk] = order[started];
        busy_until[disk] = now + ticks_per_block[disk];
      }
      next_end = std::min(next_end, busy_until[disk]);
    }
    FLOWRUN_CHECK(next_end != idle);  // else all buffers hold blocks that must wait for one without a buffer
    now = next_end;
    for (unsigned disk = 0; disk < num_disks; ++disk) {
      if (busy_until[disk] != now) continue;
      busy_until[disk] = idle;
      fetched[in_flight[disk]] = true;
    }
    while (num_consumed < order.size() && fetched[num_consumed]) ++num_consumed;
  }
  return starts;
}

prefetch_schedule naive_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers) {
  return naive_schedule(disks, one_tick_each(num_disks), num_buffers);
}

prefetch_schedule naive_schedule(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                                 uint64_t num_buffers) {
  prefetch_schedule result;
  result.order.resize(disks.size());
  std::iota(result.order.begin(), result.order.end(), uint64_t{0});
  result.step = simulate_fetching(result.order, disks, ticks_per_block, num_buffers);
  for (uint64_t i = 0; i < disks.size(); ++i) {
    result.num_steps = std::max(result.num_steps, result.step[i] + ticks_per_block[disks[i]]);
  }
  return result;
}

prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers) {
  return optimal_schedule(disks, one_tick_each(num_disks), num_buffers);
}

prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, std::span<const uint64_t> ticks_per_block,
                                   uint64_t num_buffers) {
  const uint64_t num_blocks = disks.size();
  prefetch_schedule result =
      queued_writing(std::vector<uint32_t>(disks.rbegin(), disks.rend()), ticks_per_block, num_buffers);
  std::reverse(result.order.begin(), result.order.end());
  std::reverse(result.step.begin(), result.step.end());
  for (uint64_t i = 0; i < result.order.size(); ++i) {
    result.order[i] = num_blocks - 1 - result.order[i];
    // A fetch starts when, seen backwards, the write ends.
    result.step[i] = result.num_steps - result.step[i] - ticks_per_block[disks[result.order[i]]];
  }
  // Writes in the order of their starts are not always in the order of their ends, unless the disks are equally fast.
  if (!std::is_sorted(result.step.begin(), result.step.end())) {
    std::vector<std::pair<uint64_t, uint64_t>> by_start(result.order.size());
    for (uint64_t i = 0; i < by_start.size(); ++i) by_start[i] = {result.step[i], result.order[i]};
    std::sort(by_start.begin(), by_start.end());
    for (uint64_t i = 0; i < by_start.size(); ++i) std::tie(result.step[i], result.order[i]) = by_start[i];
  }
  return result;
}

}  // namespace flowrun::block
