#include "engine/sort/wide_intermediate_merge.h"

#include <algorithm>
#include <utility>

namespace flowrun::sort {

namespace {

constexpr uint64_t least_rows = 8;  // of each run in a slice, of average length

merger_memory with_large_slices(merger_memory memory, const std::vector<runs::run>& runs) {
  uint64_t num_rows = 0, num_bytes = 0;
  for (const runs::run& r : runs) {
    num_rows += r.num_rows;
    num_bytes += r.blocks.size() * r.block_bytes;
  }
  const uint64_t average = num_bytes / std::max<uint64_t>(num_rows, 1) + 1;
  memory.slice_bytes = std::max(memory.slice_bytes, runs.size() * least_rows * average);
  return memory;
}

// One slice is written while each thread merges one.
size_t num_lanes(const sort_resources& resources) { return resources.threads > 1 ? resources.threads + 1 : 1; }

}  // namespace

wide_intermediate_merge::wide_intermediate_merge(std::vector<runs::run> runs, const sort_settings& settings,
                                                 const sort_resources& resources, const merger_memory& memory,
                                                 uint32_t block_bytes, const kernels::row_slices& slices)
    : knows_first_rows_(runs::know_first_rows(runs)),
      merger_([&] {
        const merger_memory large = with_large_slices(memory, runs);
        return row_slice_merger(std::move(runs), {}, settings, resources, large, slices);
      }()),
      writer_(*resources.blocks, block_bytes, memory.write_buffers, resources.coding),
      rows_(writer_, settings.type, settings.key, resources.memory_bytes / 8 + memory.uncounted.first_keys),
      lanes_(slices, settings, resources.post, num_lanes(resources)) {
  if (!knows_first_rows_) writer_.forget_first_rows();
  writer_.begin_run();
}

outcome wide_intermediate_merge::advance(waker& w) {
  for (;;) {
    if (showing_) {
      if (const outcome o = rows_.append(merged_, w); o.is_blocked()) return o;
      lanes_.pop();
      showing_ = false;
      return outcome::ready();
    }
    if (written_) return writer_.flush(&w);
    const outcome s = lanes_.merge([&](kernels::row_slice& slice) { return merger_.next(slice, w); }, merged_, w);
    if (s.is_blocked()) return s;
    showing_ = s.is_ready();
    if (showing_) continue;
    rows_.end_block();
    written_ = true;
  }
}

}  // namespace flowrun::sort
