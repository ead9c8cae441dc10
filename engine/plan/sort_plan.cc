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

// The part of `memory` that holds rows, when the rest is their index.
uint64_t rows_within(uint64_t memory, const sort_request& r) {
  if (r.row_bytes <= widest_plain_row) return memory;
  const uint64_t average = r.known && r.rows > 0 ? std::max<uint64_t>(r.num_bytes / r.rows, 1) : r.row_bytes;
  return scale(memory, average, average + index_bytes);
}

}  // namespace

uint64_t bytes_in_memory(uint64_t num_bytes, uint64_t rows, uint32_t row_bytes) {
  return num_bytes + (row_bytes > widest_plain_row ? rows * index_bytes : 0);
}

sort_plan plan_sort(const sort_request& r) {
  sort_plan out;
  uint64_t num_bytes = r.num_bytes;
  out.run_bytes = std::max<uint64_t>(rows_within(r.create_bytes / 2, r), 1);
  const uint64_t kept = std::min(rows_within(r.kept_bytes, r), out.run_bytes);
  uint64_t limit_bytes = UINT64_MAX;
  if (r.limit_rows > 0) limit_bytes = scale(r.limit_rows, r.known && r.rows > 0 ? divide_up(r.num_bytes, r.rows) : r.row_bytes, 1);
  uint64_t runs = r.known ? divide_up(num_bytes, out.run_bytes) : assumed_runs;
  if (limit_bytes < out.run_bytes) num_bytes = std::min(num_bytes, scale(std::max<uint64_t>(runs, 1), limit_bytes, 1));
  const bool in_memory = (r.known && num_bytes <= kept) || limit_bytes <= kept;
  const uint64_t chosen = std::clamp(r.merge_bytes / (4 * std::max<uint64_t>(runs, 1)), 64 * KiB, 4 * MiB);
  // The creator writes through a handful of blocks, too.
  const uint64_t affordable = std::max(r.create_bytes / 16, 64 * KiB);
  out.block_bytes = r.block_bytes > 0 ? r.block_bytes : std::bit_floor(std::min(chosen, affordable));
  const uint64_t blocks = r.merge_bytes / out.block_bytes;
  out.fan_in_limit = std::max<uint64_t>(2, blocks > 2 ? (blocks - 2) / 2 : 2);
  if (in_memory) {
    out.kept_bytes = r.known ? num_bytes : 0;
    return out;
  }
  runs = std::max<uint64_t>(runs, 1);
  uint64_t left = runs;
  for (out.passes = 1; left > out.fan_in_limit; ++out.passes) left = divide_up(left, out.fan_in_limit);
  out.fan_in = left;
  if (!r.known) return out;
  out.runs = runs;
  out.kept_bytes = std::min(kept, num_bytes);
  out.written_bytes = num_bytes - out.kept_bytes + (out.passes - 1) * num_bytes;
  out.read_bytes = out.written_bytes;
  return out;
}

}  // namespace flowrun::plan
