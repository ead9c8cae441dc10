#include "tests/engine/sort/sort_rig.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "tests/engine/sort/stable_order.h"

namespace flowrun::sort {

sort_rig::sort_rig(const sort_place& place, std::unique_ptr<io::backend> backend)
    : place_(place),
      tasks_(place.num_threads),
      scratch_({.on_disk = place.on_disk, .num_disks = place.num_disks, .limit = place.scratch_limit},
               std::move(backend)) {}

sort_resources sort_rig::resources() {
  sort_resources r;
  r.blocks = &scratch_.blocks();
  r.pool = &scratch_.pool();
  r.post = tasks_.poster();
  r.memory_bytes = place_.memory_bytes;
  r.kept_bytes = place_.kept_bytes;
  r.threads = std::max(1U, place_.num_threads);
  r.coding = place_.coding;
  divide(r, place_.memory_bytes, place_.block_bytes);
  r.creating.runs_per_half = place_.runs_per_half;
  r.creating.splits_halves = place_.splits_halves;
  return r;
}

void sort_rig::divide(sort_resources& r, uint64_t memory_bytes, uint32_t block_bytes) const {
  const sizes::half_budget half{.memory_bytes = memory_bytes,
                                .block_bytes = block_bytes,
                                .num_disks = scratch_.blocks().num_disks(),
                                .disk_depth = scratch_.blocks().queue_depth(),
                                .threads = r.threads,
                                .compressed = r.coding.compresses()};
  r.memory_bytes = memory_bytes;
  r.creating = sizes::divide_creator(half, memory_bytes);
  r.merging = sizes::divide_merger(half);
}

runs::sorted_runs create_runs(sort_rig& rig, run_creator& creator, const std::vector<batch>& input) {
  task_queue::sleeper sleeper(rig.queue());
  for (const batch& b : input) {
    prepared_rows prepared = creator.prepare(b);
    while (creator.push(prepared, sleeper).is_blocked()) sleeper.wait();
  }
  while (creator.finish(sleeper).is_blocked()) sleeper.wait();
  return creator.take();
}

std::vector<batch> merge_runs(sort_rig& rig, const sort_settings& settings, run_merger& merger) {
  task_queue::sleeper sleeper(rig.queue());
  std::vector<std::vector<batch>> refined;
  // Parts may hold blocks of the merge, so they are refined as they come.
  auto refine = [&](std::vector<merge_part>& raw) {
    const size_t first = refined.size();
    refined.resize(first + raw.size());
    auto some = [&](size_t from, size_t stride) {
      for (size_t i = from; i < raw.size(); i += stride) merger.refine(raw[i], refined[first + i]);
    };
    const unsigned num_threads = std::max(1U, rig.place().num_threads);
    std::vector<std::thread> others;
    for (unsigned t = 1; t < num_threads && raw.size() > 1; ++t) others.emplace_back(some, t, num_threads);
    some(0, others.empty() ? 1 : num_threads);
    for (std::thread& t : others) t.join();
    raw.clear();
  };
  constexpr size_t most_raw = 4;
  std::vector<merge_part> raw;
  for (;;) {
    const outcome s = merger.pull(raw, sleeper);
    if (s.is_ready() && raw.size() < most_raw) continue;
    refine(raw);
    if (s.is_done()) break;
    if (s.is_blocked()) sleeper.wait();
  }

  std::vector<batch> out;
  const record::row_comparator key_order(settings.type, settings.key);
  batch last;  // the row before
  uint64_t left = settings.limit > 0 ? settings.limit : ~uint64_t{0};
  for (std::vector<batch>& part : refined) {
    for (batch& b : part) {
      EXPECT_EQ(b.row_bytes, settings.type.row_bytes());
      // Slices were refined apart from each other (run_merger.h).
      if (settings.unique && last.num_rows > 0 && b.num_rows > 0 &&
          key_order.equal(last.row(0), last.heap, b.row(0), b.heap))
        b = b.slice(1, b.num_rows - 1);
      if (b.num_rows > 0) last = b.slice(b.num_rows - 1, 1);
      b = b.slice(0, std::min<uint64_t>(b.num_rows, left));
      left -= b.num_rows;
      if (b.num_rows > 0) out.push_back(std::move(b));
    }
  }
  return out;
}

sort_result sort_rows(const sort_settings& settings, const sort_place& place, const std::vector<batch>& input) {
  sort_rig rig(place);
  sort_result result;
  std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
  runs::sorted_runs runs = create_runs(rig, *creator, input);
  creator.reset();
  result.num_runs = runs.runs.size();
  result.in_memory = !runs.in_memory.empty();
  result.scratch_bytes = rig.blocks().used_bytes();
  std::unique_ptr<run_merger> merger = make_run_merger(settings, rig.resources(), std::move(runs), place.batch_bytes);
  result.fan_in = merger->fan_in();
  result.merge_passes = merger->merge_passes();
  result.rows = record::contents_of(settings.type, merge_runs(rig, settings, *merger));
  result.peak_scratch_bytes = rig.blocks().peak_used_bytes();
  return result;
}

sort_result expect_sorted(const sort_settings& settings, const sort_place& place, const std::vector<batch>& input) {
  const sort_result result = sort_rows(settings, place, input);
  const std::vector<std::string> expected = expected_rows(settings, input);
  EXPECT_EQ(result.rows.size(), expected.size());
  for (size_t i = 0; i < std::min(expected.size(), result.rows.size()); ++i) {
    if (result.rows[i] == expected[i]) continue;
    ADD_FAILURE() << to_string(settings.type) << ": row " << i << " of " << expected.size() << " is wrong";
    break;
  }
  return result;
}

size_t expect_same_runs_in_pieces(const sort_settings& settings, const std::vector<batch>& input) {
  std::vector<std::vector<runs::run>> runs_of;
  for (const unsigned num_threads : {0U, 2U}) {
    sort_place place;
    place.memory_bytes = 10 * MiB;
    place.block_bytes = 128 * KiB;
    place.num_threads = num_threads;
    sort_rig rig(place);
    std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
    const runs::sorted_runs runs = create_runs(rig, *creator, input);
    runs_of.push_back(runs.runs);
  }
  EXPECT_EQ(runs_of[0].size(), runs_of[1].size());
  for (size_t r = 0; r < std::min(runs_of[0].size(), runs_of[1].size()); ++r) {
    EXPECT_EQ(runs_of[0][r].blocks.size(), runs_of[1][r].blocks.size());
    for (size_t b = 0; b < std::min(runs_of[0][r].blocks.size(), runs_of[1][r].blocks.size()); ++b) {
      EXPECT_EQ(runs_of[0][r].blocks[b].first, runs_of[1][r].blocks[b].first);
      EXPECT_EQ(runs_of[0][r].blocks[b].num_rows, runs_of[1][r].blocks[b].num_rows);
    }
    EXPECT_EQ(runs_of[0][r].first_rows, runs_of[1][r].first_rows);
  }
  return runs_of[0].size();
}

sort_settings sort_by(const record::row_type& type, record::key key) {
  sort_settings settings;
  settings.type = type;
  settings.key = std::move(key);
  return settings;
}

sort_place keeping_place(uint64_t memory_bytes) {
  sort_place place;
  place.memory_bytes = place.kept_bytes = memory_bytes;
  return place;
}

record::key columns(std::initializer_list<size_t> list) {
  record::key out;
  for (size_t column : list) out.push_back({column, false, 0, 0});
  return out;
}

std::vector<batch> numbers(record::batch_pool& pool, const std::vector<uint64_t>& values) {
  static const record::row_type type = type_of({{"k", "u64"}});
  std::vector<batch> out;
  record::batch_builder builder(type, pool, record::rows_of_any_length(16 * 1024));
  for (uint64_t value : values) {
    std::memcpy(builder.append(), &value, sizeof value);
    if (builder.full()) out.push_back(builder.take());
  }
  if (!builder.empty()) out.push_back(builder.take());
  return out;
}

}  // namespace flowrun::sort
