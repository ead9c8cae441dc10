#include "engine/sizes/sort_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/units.h"
#include "engine/sizes/sorted_row.h"

namespace flowrun::sizes {

namespace {

constexpr uint64_t assumed_runs = 64;

uint64_t divide_up(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b + (a % b != 0); }

// a * b / c without overflow
uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
  __extension__ using wide = unsigned __int128;
  return c == 0 ? 0 : static_cast<uint64_t>(static_cast<wide>(a) * b / c);
}

// With strings, as far as they are known.
uint64_t average_row(const sort_request& r) {
  return r.known && r.rows > 0 ? std::max<uint64_t>(r.num_bytes / r.rows, 1) : r.row_bytes;
}

// The part of `memory` that holds rows: narrow rows are widened to words, others have an index beside them.
uint64_t rows_within(uint64_t memory, const sort_request& r) {
  if (!r.indexed) return scale(memory, r.row_bytes, word_bytes(r.row_bytes));
  return scale(memory, average_row(r), average_row(r) + index_entry_bytes);
}

// What a stretch, one of `runs_per_half` in half the run buffer, has of rows. Those with an index are whole rows.
uint64_t stretch_of(const sort_request& r, uint64_t half_bytes, uint64_t runs_per_half) {
  if (!r.indexed) return std::max<uint64_t>(divide_up(rows_within(half_bytes, r), runs_per_half), 1);
  const uint64_t stretch_bytes = std::min(half_bytes / runs_per_half, longest_stretch);
  const uint64_t rows = stretch_bytes / (average_row(r) + index_entry_bytes);
  return std::max<uint64_t>(rows, 1) * average_row(r);
}

// What run creation leaves of a known input.
struct formation {
  uint64_t runs = 0;
  uint64_t kept_bytes = 0;
  uint64_t kept_runs = 0;
};

// The run buffer is a ring of 2 * `runs_per_half` stretches. Up to half of them wait, as far as they may stay, before
// they are written. A wide row that has no room hands the stretch over, a narrow one does when it fills it.
formation form_halves(const sort_request& r, uint64_t half_bytes, uint64_t runs_per_half) {
  if (r.num_bytes == 0) return {};
  const uint64_t stretch = stretch_of(r, half_bytes, runs_per_half);
  uint64_t full = r.num_bytes / stretch, rest = r.num_bytes % stretch;
  if (rest == 0 && r.indexed) {
    --full;
    rest = stretch;
  }
  const uint64_t may_stay = rows_within(r.kept_bytes, r);
  uint64_t stay = runs_per_half > 1 ? std::min({full, runs_per_half, may_stay / stretch}) : 0;
  while (stay > 0 && stay * stretch + rest > may_stay) --stay;
  const bool rest_stays = rest > 0 && stay * stretch + rest <= may_stay;
  formation out;
  out.kept_runs = stay + (rest_stays ? 1 : 0);
  out.kept_bytes = stay * stretch + (rest_stays ? rest : 0);
  out.runs = full + (rest > 0 ? 1 : 0) - out.kept_runs;
  return out;
}

// Whether run creation decides if halves become several runs. With one thread it can't, since halves are not sorted in
// pieces.
bool may_split(const sort_request& r) { return r.unique && !r.indexed && r.threads > 1; }

// How many runs each half becomes; an upper bound where rows that repeat are left out.
uint64_t choose_runs_per_half(const sort_request& r, uint64_t half_bytes, const sort_plan& plan) {
  // Merging narrow rows costs the same at any fan-in; wide rows go through a tree. Each thread wants one to sort.
  const uint64_t most = r.indexed ? 2 : 8;
  constexpr uint64_t least_blocks = 8;  // of a run: the last one is not full
  // Longer runs drop more rows that repeat. For narrow rows, run creation finds out how many repeat.
  const bool splits = may_split(r);
  if (!r.known || r.long_runs || r.limit_rows > 0 || (r.dedups && !splits)) return 1;
  const uint64_t num_halves = form_halves(r, half_bytes, 1).runs;
  if (num_halves == 0) return 1;
  for (uint64_t runs = most; runs > 1; runs /= 2)
    if (rows_within(half_bytes, r) / runs >= least_blocks * plan.expected.block_bytes &&
        (splits ? num_halves * runs : form_halves(r, half_bytes, runs).runs) <= plan.expected.fan_in / 4 * 3)
      return runs;
  return 1;
}

// Replacement selection as a snow plough (Knuth, volume 3, 5.4.1), lengths in units of `stored_bytes`. When the input
// ends, `stored` is left: of that, Q ends the run being written, and Q' is one run more. What may be kept is not
// written.
formation form_long_runs(const sort_request& r, uint64_t stored_bytes) {
  formation out;
  out.kept_bytes = std::min({r.num_bytes, stored_bytes, rows_within(r.kept_bytes, r)});
  out.kept_runs = out.kept_bytes > 0 ? 1 : 0;
  if (out.kept_bytes == r.num_bytes) return out;
  const double unit = static_cast<double>(stored_bytes);
  const double input = static_cast<double>(r.num_bytes) / unit;
  if (input <= 1) {
    out.runs = 1;
    return out;
  }
  const double rows_of_unit = static_cast<double>(r.rows) / input;
  uint64_t most_runs = UINT64_MAX;
  if (const double selected = static_cast<double>(r.limit_rows) / rows_of_unit; selected > 0 && selected < 1) {
    // A run ends at the limit and leaves only smaller rows to the next: each needs so much more input to fill. With a
    // limit of about what the memory holds, runs end before they reach it, as those without a limit do.
    const double more = std::min(std::log(input) / -std::log(selected), 1e9);
    most_runs = 1 + static_cast<uint64_t>(out.kept_bytes > 0 ? more : std::ceil(more));
  }
  const double first_run = 1.718281828;
  const double written = input - 1;  // when the input ends
  double in_q = 0;
  if (written < first_run) {
    out.runs = 1;
    in_q = (1 - std::log(1 + written)) * (1 + written);
  } else {
    const double later = (written - first_run) / 2;  // runs after the first
    out.runs = 1 + std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(later)));
    const double done = later - static_cast<double>(out.runs - 2);  // of the one being written
    in_q = 1 - done * done;
  }
  if (1 - static_cast<double>(out.kept_bytes) / unit > in_q) ++out.runs;
  out.runs = std::min(out.runs, most_runs);
  return out;
}

// Bytes that intermediate merges move before at most `fan_in` of `runs` equal runs are left: as few runs as will do.
uint64_t intermediate_bytes(uint64_t runs, uint64_t run_bytes, uint64_t fan_in) {
  uint64_t moved = 0;
  while (runs > fan_in) {
    const uint64_t surplus = runs - fan_in;
    const uint64_t merged = surplus + divide_up(surplus, fan_in - 1);  // a merge of g runs leaves g - 1 fewer
    if (merged <= runs) return moved + merged * run_bytes;
    moved += runs * run_bytes;
    runs = divide_up(runs, fan_in);
    run_bytes *= fan_in;
  }
  return moved;
}

half_budget budget_of(const sort_request& r, uint64_t memory_bytes, uint64_t block_bytes) {
  return {.memory_bytes = memory_bytes,
          .block_bytes = block_bytes,
          .num_disks = r.num_disks,
          .disk_depth = r.disk_depth,
          .threads = r.threads,
          .compressed = r.compressed,
          .folds = r.dedups,
          .uncounted = uncounted_of(r.halves)};
}

// How both halves divide their memory, and how the merger will for rows with the strings that are expected.
sort_plan divide_halves(const sort_request& r, uint64_t block_bytes) {
  sort_plan out;
  const half_budget creating = budget_of(r, r.create_bytes, block_bytes);
  out.creator = divide_creator(creating, r.merge_bytes, r.kept_bytes);
  creator_sizes expected = out.creator;
  if (r.indexed) {
    const uint64_t fixed = r.row_bytes, average = std::max<uint64_t>(average_row(r), fixed);
    out.creator = creator_for_rows(out.creator, {fixed, fixed + index_entry_bytes}, creating);
    expected = creator_for_rows(out.creator, {average, average + index_entry_bytes}, creating);
  }
  out.merger = divide_merger(budget_of(r, r.merge_bytes, out.creator.block_bytes));
  out.merger.kept_bytes = r.kept_bytes;
  out.expected = divide_merger(budget_of(r, r.merge_bytes, expected.block_bytes));
  return out;
}

sort_plan plan_with_blocks(const sort_request& r, uint64_t block_bytes) {
  sort_plan out = divide_halves(r, block_bytes);
  const merger_sizes& merger = out.expected;
  const uint64_t half_bytes = out.creator.half_bytes;
  const uint64_t stored_bytes = std::max<uint64_t>(rows_within(half_bytes / 8 * 15, r), 1);
  const uint64_t runs_per_half = choose_runs_per_half(r, half_bytes, out);
  out.creator.runs_per_half = static_cast<unsigned>(runs_per_half);
  out.creator.splits_halves = may_split(r) && runs_per_half > 1;
  out.run_bytes = r.long_runs ? 2 * stored_bytes : stretch_of(r, half_bytes, runs_per_half);

  const uint64_t average = r.known && r.rows > 0 ? divide_up(r.num_bytes, r.rows) : r.row_bytes;
  const uint64_t run_limit =
      r.limit_rows > 0 ? scale(r.limit_rows, average, 1) : UINT64_MAX;  // what a run writes at most
  formation formed{r.long_runs ? assumed_runs / 4 : assumed_runs};
  if (r.known && r.long_runs) {
    formed = form_long_runs(r, stored_bytes);
  } else if (r.known) {
    formed = form_halves(r, half_bytes, out.creator.splits_halves ? 1 : runs_per_half);
    if (out.creator.splits_halves) formed.runs *= runs_per_half;
  }
  out.runs = formed.runs;
  if (r.known && out.runs == 0) {
    out.kept_bytes = r.num_bytes;
    return out;
  }
  out.passes = 1;
  for (uint64_t left = out.runs; left > merger.fan_in; ++out.passes) left = divide_up(left, merger.fan_in);
  out.fan_in = std::min(out.runs, merger.fan_in) + formed.kept_runs;
  if (!r.known) {
    out.runs = 0;
    return out;
  }
  out.kept_bytes = std::min(formed.kept_bytes, run_limit);
  const uint64_t in_runs = r.num_bytes - formed.kept_bytes;
  const uint64_t longest = r.long_runs ? divide_up(in_runs, out.runs) : out.run_bytes;
  const uint64_t run = std::min(longest, run_limit);
  out.written_bytes = (run < longest ? out.runs * run : in_runs) + intermediate_bytes(out.runs, run, merger.fan_in);
  out.read_bytes = out.written_bytes;
  return out;
}

// As long as the creator's memory allows, and so short that the merger works: at its least it has its least number of
// the shortest ones.
uint64_t longest_first_choice(const sort_request& r) {
  const uint64_t for_merging = r.merge_bytes / least_sort_memory(1);
  return std::clamp(std::bit_floor(std::max<uint64_t>(std::min(r.create_bytes / 64, for_merging), 1)),
                    shortest_sort_block, MiB);
}

}  // namespace

sort_plan plan_sort(const sort_request& r) {
  if (r.block_bytes > 0) return plan_with_blocks(r, r.block_bytes);
  constexpr uint64_t least_by_choice = 64 * KiB;
  const uint64_t enough_buffers = uint64_t{16} * r.num_disks;
  const uint64_t longest = longest_first_choice(r);
  sort_plan best = plan_with_blocks(r, longest);
  for (uint64_t smaller = longest / 2; smaller >= least_by_choice; smaller /= 2) {
    const sort_plan other = plan_with_blocks(r, smaller);
    if (other.expected.block_bytes == best.expected.block_bytes) break;  // the rows ask for that anyway
    const bool saves_a_pass = other.passes < best.passes;
    const bool reads_ahead = best.expected.num_buffers < enough_buffers && other.passes <= best.passes;
    if (saves_a_pass || reads_ahead) best = other;
  }
  return best;
}

}  // namespace flowrun::sizes
