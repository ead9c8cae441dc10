#include "engine/plan/sort_plan.h"

#include <algorithm>
#include <bit>

#include "engine/base/units.h"

namespace flowrun::plan {

namespace {

constexpr uint32_t widest_plain_row = 16;  // wider rows are sorted by an index
constexpr uint64_t index_bytes = 16;
constexpr uint64_t assumed_runs = 64;

uint64_t divide_up(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b + (a % b != 0); }

// a * b / c without overflow
uint64_t scale(uint64_t a, uint64_t b, uint64_t c) {
  __extension__ using wide = unsigned __int128;
  return c == 0 ? 0 : static_cast<uint64_t>(static_cast<wide>(a) * b / c);
}

// A narrow row is sorted as a word of 8 or 16 bytes.
uint64_t word_bytes(uint32_t row_bytes) { return row_bytes <= 8 ? 8 : 16; }

// The part of `memory` that holds rows: narrow rows are widened to words, wide rows have an index beside them.
uint64_t rows_within(uint64_t memory, const sort_request& r) {
  if (r.row_bytes <= widest_plain_row) return scale(memory, r.row_bytes, word_bytes(r.row_bytes));
  const uint64_t average = r.known && r.rows > 0 ? std::max<uint64_t>(r.num_bytes / r.rows, 1) : r.row_bytes;
  return scale(memory, average, average + index_bytes);
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

}  // namespace

uint64_t bytes_in_memory(uint64_t num_bytes, uint64_t rows, uint32_t row_bytes) {
  return row_bytes > widest_plain_row ? num_bytes + rows * index_bytes : rows * word_bytes(row_bytes);
}

sort_plan plan_sort(const sort_request& r) {
  sort_plan out;
  out.block_bytes = r.block_bytes > 0
                        ? r.block_bytes
                        : std::clamp(std::bit_floor(std::max<uint64_t>(r.create_bytes / 64, 1)), 16 * KiB, MiB);
  const uint64_t write_buffers = std::clamp<uint64_t>(r.create_bytes / 8 / out.block_bytes, 2, 16);
  const uint64_t buffers = std::min(write_buffers * out.block_bytes, r.create_bytes);
  out.run_bytes = std::max<uint64_t>(rows_within((r.create_bytes - buffers) / 2, r), 1);
  const uint64_t total = (r.merge_bytes - r.merge_bytes / 4) / out.block_bytes;
  const uint64_t ahead = std::clamp<uint64_t>(total / 4, 2, std::max<uint64_t>(16, 4 * r.num_disks));
  out.fan_in_limit = total > ahead + 4 ? total - ahead - 2 : 2;

  uint64_t num_bytes = r.num_bytes;
  uint64_t halves = r.known ? divide_up(num_bytes, out.run_bytes) : assumed_runs;
  const uint64_t average = r.known && r.rows > 0 ? divide_up(r.num_bytes, r.rows) : r.row_bytes;
  const uint64_t run_limit =
      r.limit_rows > 0 ? scale(r.limit_rows, average, 1) : UINT64_MAX;  // what a run writes at most
  const uint64_t last = r.known && halves > 0 ? num_bytes - (halves - 1) * out.run_bytes : out.run_bytes;
  const bool stays = r.known && num_bytes > 0 && last <= rows_within(r.kept_bytes, r);
  out.runs = halves - (stays ? 1 : 0);
  if (r.known && out.runs == 0) {
    out.kept_bytes = num_bytes;
    return out;
  }
  out.passes = 1;
  for (uint64_t left = out.runs; left > out.fan_in_limit; ++out.passes) left = divide_up(left, out.fan_in_limit);
  out.fan_in = std::min(out.runs, out.fan_in_limit) + (stays ? 1 : 0);
  if (!r.known) {
    out.runs = 0;
    return out;
  }
  out.kept_bytes = stays ? std::min(last, run_limit) : 0;
  const uint64_t run = std::min(out.run_bytes, run_limit);
  const uint64_t formed = run < out.run_bytes ? out.runs * run : num_bytes - (stays ? last : 0);
  out.written_bytes = formed + intermediate_bytes(out.runs, run, out.fan_in_limit);
  out.read_bytes = out.written_bytes;
  return out;
}

}  // namespace flowrun::plan
