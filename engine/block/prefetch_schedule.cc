// Prefetch schedules by duality with queued writing; see prefetch_schedule.h.
#include "engine/block/prefetch_schedule.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>

#include "engine/base/error.h"

namespace flowrun::block {

std::vector<uint64_t> simulate_fetching(std::span<const uint64_t> order, std::span<const uint32_t> disks,
                                        unsigned num_disks, uint64_t num_buffers) {
  FLOWRUN_CHECK(num_buffers > 0 && order.size() == disks.size());
  std::vector<uint64_t> steps(order.size());
  std::vector<std::deque<uint64_t>> queues(num_disks);  // indices into `order`
  std::vector<bool> fetched(order.size(), false);       // by position in σ
  uint64_t num_issued = 0, num_consumed = 0, num_served = 0;
  for (uint64_t now = 0; num_consumed < order.size(); ++now) {
    for (; num_issued < order.size() && num_issued - num_consumed < num_buffers; ++num_issued) {
      queues[disks[order[num_issued]]].push_back(num_issued);
    }
    const uint64_t served_before = num_served;
    for (auto& queue : queues) {
      if (queue.empty()) continue;
      steps[queue.front()] = now;
      fetched[order[queue.front()]] = true;
      queue.pop_front();
      ++num_served;
    }
    FLOWRUN_CHECK(num_served > served_before);
    while (num_consumed < order.size() && fetched[num_consumed]) ++num_consumed;
  }
  return steps;
}

prefetch_schedule naive_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers) {
  prefetch_schedule result;
  result.order.resize(disks.size());
  std::iota(result.order.begin(), result.order.end(), uint64_t{0});
  result.step = simulate_fetching(result.order, disks, num_disks, num_buffers);
  for (uint64_t step : result.step) result.num_steps = std::max(result.num_steps, step + 1);
  return result;
}

prefetch_schedule optimal_schedule(std::span<const uint32_t> disks, unsigned num_disks, uint64_t num_buffers) {
  FLOWRUN_CHECK(num_buffers > 0);
  prefetch_schedule result;
  result.order.reserve(disks.size());
  result.step.reserve(disks.size());

  std::vector<std::deque<uint64_t>> queues(num_disks);  // positions in σ waiting to be written, first in first out
  uint64_t num_left = disks.size(), num_buffered = 0, now = 0;
  std::vector<uint64_t> written;
  for (; num_left > 0 || num_buffered > 0; ++now) {
    for (; num_left > 0 && num_buffered < num_buffers; ++num_buffered) {
      --num_left;
      FLOWRUN_CHECK(disks[num_left] < num_disks);
      queues[disks[num_left]].push_back(num_left);
    }
    written.clear();
    for (auto& queue : queues) {
      if (queue.empty()) continue;
      written.push_back(queue.front());
      queue.pop_front();
      --num_buffered;
    }
    // Descending now, ascending once reversed.
    std::sort(written.begin(), written.end(), std::greater<>());
    for (uint64_t position : written) {
      result.order.push_back(position);
      result.step.push_back(now);
    }
  }
  result.num_steps = now;
  std::reverse(result.order.begin(), result.order.end());
  std::reverse(result.step.begin(), result.step.end());
  for (uint64_t& step : result.step) step = now - 1 - step;
  return result;
}

}  // namespace flowrun::block
