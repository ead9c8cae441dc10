// How well fetching from D disks in the optimal order (engine/block/prefetch_schedule.h) does against fetching in the
// order of prediction, without a disk: merges of 128 runs, 4000 D blocks in all, as pure schedules. Prints Markdown, or
// CSV with --csv. Takes seconds.
//
// In each cell: parallel input steps as a multiple of n/D, the least possible; the share of the steps that fetch at
// least (1 - D/m) D blocks ("good"), and of those that keep all D disks busy ("full"). m counts buffers; rows "w(r)"
// take the heuristics' w of r read buffers (buffer_split.h).
//
// Random runs by randomised cycling, steps against n/D (optimal | naive) and good steps of the optimal order:
//
//   D    m = 2D               m = 4D               m = 8D               m = 16D
//   2    1.12 | 1.17, 100 %   1.05 | 1.08,  91 %   1.00 | 1.03,  99 %   1.00 | 1.00, 100 %
//   4    1.20 | 1.35, 100 %   1.07 | 1.17,  99 %   1.00 | 1.06, 100 %   1.00 | 1.00, 100 %
//   8    1.24 | 1.49, 100 %   1.08 | 1.26,  99 %   1.00 | 1.13, 100 %   1.00 | 1.01, 100 %
//   16   1.27 | 1.67, 100 %   1.09 | 1.36,  99 %   1.00 | 1.17, 100 %   1.00 | 1.02, 100 %
//   32   1.27 | 1.81, 100 %   1.09 | 1.44, 100 %   1.00 | 1.18, 100 %   1.00 | 1.01, 100 %
//   64   1.26 | 1.88, 100 %   1.08 | 1.45, 100 %   1.00 | 1.21, 100 %   1.00 | 1.04, 100 %
//
// Steps that keep all D busy are another matter: with m = 4D they are 91, 75, 54, 22, 6 and 0 % for these D, with m =
// 8D 96 % and more.
//
// Equal runs, which ask for blocks in bursts, give the same within 0.03 (optimal); striped, D = 8 and m = 4D, they take
// 6.07 times n/D instead of 1.08, and random runs 5.09: their blocks come nearly in bursts too. With many more runs
// than buffers randomised cycling approaches independent random disks: up to 1.30, 1.14, 1.07, 1.04.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/block/allocation.h"
#include "engine/block/prefetch_schedule.h"
#include "engine/sizes/buffer_split.h"
#include "tests/engine/block/merge_sequence.h"

namespace {

using namespace flowrun::block;

constexpr uint64_t num_runs = 128;
constexpr uint64_t blocks_per_disk = 4000;
constexpr unsigned rows_per_block = 1024;
constexpr uint64_t seed = 1;

struct strategy_name {
  allocation_strategy strategy;
  const char* name;
};
constexpr strategy_name strategies[] = {{allocation_strategy::striping, "striping"},
                                        {allocation_strategy::simple_randomised, "simple randomised"},
                                        {allocation_strategy::fully_randomised, "fully randomised"},
                                        {allocation_strategy::randomised_cycling, "randomised cycling"}};

struct figures {
  double steps = 0;       // as a multiple of n/D
  double good_steps = 0;  // share of the steps
  double full_steps = 0;  // share of the steps
};

figures figures_of(const io_schedule& schedule, unsigned num_disks, uint64_t num_buffers) {
  std::vector<unsigned> busy(schedule.num_steps, 0);
  for (uint64_t step : schedule.step) ++busy[step];
  uint64_t num_good = 0, num_full = 0;
  for (unsigned count : busy) {
    num_good += count * num_buffers >= (num_buffers - num_disks) * num_disks;
    num_full += count == num_disks;
  }
  const auto num_steps = static_cast<double>(schedule.num_steps);
  return {num_steps * num_disks / static_cast<double>(schedule.order.size()), static_cast<double>(num_good) / num_steps,
          static_cast<double>(num_full) / num_steps};
}

struct buffers {
  std::string name;
  uint64_t count;
};

std::vector<buffers> buffers_for(unsigned num_disks) {
  std::vector<buffers> result;
  for (unsigned factor : {2u, 4u, 8u, 16u}) {
    result.push_back({fmt::format("{}D", factor), uint64_t{factor} * num_disks});
    if (factor > 2) {
      result.push_back(
          {fmt::format("w({}D)", factor), flowrun::sizes::split_read_buffers(uint64_t{factor} * num_disks, num_disks)});
    }
  }
  return result;
}

void print_disks_alike(const char* title, const char* runs, bool csv) {
  if (!csv) {
    fmt::print("## {}\n\n| D | m | blocks |", title);
    for (const auto& one : strategies) fmt::print(" {}: optimal | naive |", one.name);
    fmt::print("\n|---|---|---|{}\n", "---|---|---|---|---|---|---|---|");
  }
  for (unsigned num_disks = 2; num_disks <= 64; num_disks *= 2) {
    const uint64_t blocks_per_run = blocks_per_disk * num_disks / num_runs;
    const auto merge = runs == std::string_view("random")
                           ? testing::merge_of_random_runs(num_runs, blocks_per_run, rows_per_block, seed)
                           : testing::merge_of_equal_runs(num_runs, blocks_per_run);
    for (const buffers& m : buffers_for(num_disks)) {
      if (!csv) fmt::print("| {} | {} | {} |", num_disks, m.name, m.count);
      for (const auto& one : strategies) {
        const auto disks = testing::disks_of(merge, num_runs, one.strategy, num_disks, seed);
        const figures optimal = figures_of(optimal_schedule(disks, num_disks, m.count), num_disks, m.count);
        const figures naive = figures_of(naive_schedule(disks, num_disks, m.count), num_disks, m.count);
        if (csv) {
          fmt::print("{},{},{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", runs, num_disks, m.name, m.count,
                     one.name, optimal.steps, optimal.good_steps, optimal.full_steps, naive.steps, naive.good_steps,
                     naive.full_steps);
        } else {
          fmt::print(" {:.2f}, {:.0f} %, {:.0f} % | {:.2f}, {:.0f} %, {:.0f} % |", optimal.steps,
                     100 * optimal.good_steps, 100 * optimal.full_steps, naive.steps, 100 * naive.good_steps,
                     100 * naive.full_steps);
        }
      }
      if (!csv) fmt::print("\n");
    }
  }
  if (!csv) fmt::print("\n");
}

// Disks of unequal speed: time as a multiple of n / (sum of speeds), for blocks shared out by weight and evenly.
void print_unequal_disks(bool csv) {
  if (!csv) {
    fmt::print("## Disks of unequal speed, random runs, randomised cycling: time against n / sum of speeds\n\n");
    fmt::print("| speeds | m | by weight: optimal | naive | evenly: optimal |\n|---|---|---|---|---|\n");
  }
  for (const std::vector<double>& weights :
       {std::vector<double>{2, 1}, {100, 100, 50, 50}, {3, 2, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 0.25}}) {
    const auto num_disks = static_cast<unsigned>(weights.size());
    const std::vector<uint64_t> ticks = ticks_of_weights(weights);
    double speed = 0;  // blocks per tick
    for (uint64_t each : ticks) speed += 1.0 / static_cast<double>(each);
    const auto merge =
        testing::merge_of_random_runs(num_runs, blocks_per_disk * num_disks / num_runs, rows_per_block, seed);
    std::vector<disk_cycle> weighted;
    for (uint64_t run = 0; run < num_runs; ++run) {
      weighted.emplace_back(allocation_strategy::randomised_cycling, weights, seed, run);
    }
    const auto by_weight = testing::disks_of(merge, weighted);
    const auto evenly = testing::disks_of(merge, num_runs, allocation_strategy::randomised_cycling, num_disks, seed);
    const double least = static_cast<double>(merge.size()) / speed;
    const auto against = [&](const io_schedule& schedule) { return static_cast<double>(schedule.num_steps) / least; };
    for (const buffers& m : buffers_for(num_disks)) {
      const double optimal = against(optimal_schedule(by_weight, ticks, m.count));
      const double naive = against(naive_schedule(by_weight, ticks, m.count));
      const double even = against(optimal_schedule(evenly, ticks, m.count));
      const std::string speeds = fmt::format("{}", fmt::join(weights, csv ? " " : ", "));
      if (csv) {
        fmt::print("unequal {},{},{},{},by weight,{:.4f},,,{:.4f},,\n", speeds, num_disks, m.name, m.count, optimal,
                   naive);
        fmt::print("unequal {},{},{},{},evenly,{:.4f},,,,,\n", speeds, num_disks, m.name, m.count, even);
      } else {
        fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", speeds, m.name, optimal, naive, even);
      }
    }
  }
}

}  // namespace

int main(int num_arguments, char** arguments) {
  const bool csv = num_arguments == 2 && std::string_view(arguments[1]) == "--csv";
  if (num_arguments > 1 && !csv) {
    fmt::print(stderr, "usage: {} [--csv]\n", arguments[0]);
    return 64;
  }
  if (csv)
    fmt::print(
        "runs,disks,m,blocks,allocation,optimal_steps,optimal_good,optimal_full,naive_steps,naive_good,naive_full\n");
  print_disks_alike("Random runs", "random", csv);
  print_disks_alike("Equal runs: bursts of one block of every run", "equal", csv);
  print_unequal_disks(csv);
}
