// No schedule is shorter: queued_writing() and optimal_schedule() are compared with a search through all schedules.
// This is done for every assignment of up to 8 blocks (7 where a sanitizer watches the search) to up to 3 disks (disks of
// equal speed may be renamed) and up to 4 buffers, and for disks of unequal speed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "engine/block/prefetch_schedule.h"
#include "engine/block/queued_writing.h"
#include "tests/support/sanitized.h"

namespace flowrun::block {
namespace {

using disks = std::vector<uint32_t>;
using numbers = std::vector<uint64_t>;

constexpr unsigned most_disks = 3;
constexpr unsigned most_blocks = sanitized ? 7 : 8;

enum class way { fetching, writing };

// One tick of any schedule. Blocks are moved by the disks in any order, disks may idle; the only rules are those of the
// buffers:
//   fetching: a fetch takes a buffer when it starts, consuming the block (in the order of the positions, as soon as it
//             and all before it are there) gives it back at the end of a tick
//   writing:  blocks take buffers in the order of the positions, any number at the start of a tick; the end of a write
//             gives the buffer back
struct state {
  unsigned done = 0;                                      // blocks whose transfer has ended, a bit each
  unsigned started = 0;                                   // and those whose transfer has begun
  unsigned admitted = 0;                                  // writing: blocks that have had a buffer
  std::array<uint8_t, most_disks> block{}, ticks_left{};  // of each disk
  auto operator<=>(const state&) const = default;
};

class search {
 public:
  search(way direction, const disks& sigma, const numbers& ticks, unsigned num_buffers)
      : direction_(direction), sigma_(sigma), ticks_(ticks), num_buffers_(num_buffers) {}

  // The fewest ticks after which all is done.
  uint64_t fewest_ticks() {
    const unsigned all = (1u << sigma_.size()) - 1;
    std::set<state> now{state{}};
    for (uint64_t ticks = 0;; ++ticks) {
      for (const state& one : now) {
        if (one.done == all) return ticks;
      }
      next_.clear();
      for (const state& one : now) {
        if (direction_ == way::fetching) {
          start(one, 0);
          continue;
        }
        state more = one;
        for (;; ++more.admitted) {
          start(more, 0);
          if (more.admitted == sigma_.size() || more.admitted - bits(more.done) == num_buffers_) break;
        }
      }
      now.swap(next_);
    }
  }

 private:
  static unsigned bits(unsigned set) { return static_cast<unsigned>(__builtin_popcount(set)); }

  bool may_start(const state& at, unsigned position) const {
    if (at.started >> position & 1) return false;
    if (direction_ == way::writing) return position < at.admitted;
    const auto num_consumed = static_cast<unsigned>(__builtin_ctz(~at.done));
    return bits(at.started) - num_consumed < num_buffers_;
  }

  // All choices of disks `disk` …, then the tick passes.
  void start(const state& at, unsigned disk) {
    if (disk == ticks_.size()) {
      state after = at;
      for (unsigned d = 0; d < ticks_.size(); ++d) {
        if (after.ticks_left[d] > 0 && --after.ticks_left[d] == 0) {
          after.done |= 1u << after.block[d];
          after.block[d] = 0;
        }
      }
      next_.insert(after);
      return;
    }
    start(at, disk + 1);
    if (at.ticks_left[disk] > 0) return;
    for (unsigned position = 0; position < sigma_.size(); ++position) {
      if (sigma_[position] != disk || !may_start(at, position)) continue;
      state chosen = at;
      chosen.started |= 1u << position;
      chosen.block[disk] = static_cast<uint8_t>(position);
      chosen.ticks_left[disk] = static_cast<uint8_t>(ticks_[disk]);
      start(chosen, disk + 1);
    }
  }

  const way direction_;
  const disks& sigma_;
  const numbers& ticks_;
  const unsigned num_buffers_;
  std::set<state> next_;
};

// Every σ of `num_blocks` blocks in which the disks first appear in the order 0, 1, 2: all, up to renaming.
template <class Visit>
void for_each_sigma(unsigned num_blocks, const Visit& visit) {
  disks sigma(num_blocks, 0);
  const auto fill = [&](const auto& self, unsigned position, uint32_t num_seen) -> void {
    if (position == num_blocks) return visit(sigma);
    for (uint32_t disk = 0; disk < std::min(num_seen + 1, most_disks); ++disk) {
      sigma[position] = disk;
      self(self, position + 1, std::max(num_seen, disk + 1));
    }
  };
  fill(fill, 0, 0);
}

uint64_t end_of(const numbers& order, const numbers& steps, const disks& sigma, const numbers& ticks) {
  uint64_t end = 0;
  for (uint64_t i = 0; i < order.size(); ++i) end = std::max(end, steps[i] + ticks[sigma[order[i]]]);
  return end;
}

// The schedule can be carried out as it stands, and an eager prefetcher does each fetch at its step or earlier.
void expect_feasible(const prefetch_schedule& schedule, const disks& sigma, const numbers& ticks,
                     uint64_t num_buffers) {
  const uint64_t n = sigma.size();
  numbers start(n), end(n), free_at(ticks.size(), 0);
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t block = schedule.order[i];
    const uint32_t disk = sigma[block];
    ASSERT_GE(schedule.step[i], free_at[disk]);
    start[block] = schedule.step[i];
    end[block] = free_at[disk] = schedule.step[i] + ticks[disk];
  }
  numbers consumed(n);
  for (uint64_t block = 0, latest = 0; block < n; ++block) consumed[block] = latest = std::max(latest, end[block]);
  for (uint64_t block = 0; block < n; ++block) {
    uint64_t held = 0;
    for (uint64_t other = 0; other < n; ++other) held += start[other] <= start[block] && consumed[other] > start[block];
    ASSERT_LE(held, num_buffers);
  }
  ASSERT_EQ(end_of(schedule.order, schedule.step, sigma, ticks), schedule.num_steps);

  const numbers earliest = simulate_fetching(schedule.order, sigma, ticks, num_buffers);
  for (uint64_t i = 0; i < n; ++i) ASSERT_LE(earliest[i], schedule.step[i]);
  ASSERT_EQ(end_of(schedule.order, earliest, sigma, ticks), schedule.num_steps);
}

void expect_optimal(const disks& sigma, const numbers& ticks, unsigned num_buffers) {
  SCOPED_TRACE(::testing::PrintToString(sigma) + " ticks " + ::testing::PrintToString(ticks) + " m " +
               std::to_string(num_buffers));
  const prefetch_schedule fetching = optimal_schedule(sigma, ticks, num_buffers);
  expect_feasible(fetching, sigma, ticks, num_buffers);
  ASSERT_EQ(fetching.num_steps, search(way::fetching, sigma, ticks, num_buffers).fewest_ticks());
  ASSERT_GE(naive_schedule(sigma, ticks, num_buffers).num_steps, fetching.num_steps);
  ASSERT_EQ(queued_writing(sigma, ticks, num_buffers).num_steps,
            search(way::writing, sigma, ticks, num_buffers).fewest_ticks());
}

TEST(schedule_optimality, no_schedule_is_shorter_on_any_small_case) {
  unsigned num_cases = 0;
  for (unsigned num_blocks = 0; num_blocks <= most_blocks; ++num_blocks) {
    for_each_sigma(num_blocks, [&](const disks& sigma) {
      for (unsigned num_buffers = 1; num_buffers <= 4; ++num_buffers) {
        expect_optimal(sigma, numbers{1, 1, 1}, num_buffers);
        ++num_cases;
      }
    });
    if (HasFatalFailure()) return;
  }
  // (3^(n-1) + 1) / 2 sequences of n > 0 blocks, and the empty one.
  EXPECT_EQ(num_cases, 4u * (1 + 1 + 2 + 5 + 14 + 41 + 122 + 365 + (sanitized ? 0 : 1094)));
}

TEST(schedule_optimality, no_schedule_is_shorter_on_unequal_disks) {
  for (unsigned num_blocks = 1; num_blocks <= 5; ++num_blocks) {
    for_each_sigma(num_blocks, [&](const disks& sigma) {
      for (const numbers& ticks : {numbers{1, 2, 3}, numbers{2, 1, 1}, numbers{3, 2, 2}, numbers{2, 3, 1}}) {
        for (unsigned num_buffers = 1; num_buffers <= 3; ++num_buffers) expect_optimal(sigma, ticks, num_buffers);
      }
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace flowrun::block
