// What run creation leaves: how many runs, in memory or on scratch, how much of it.

#include <gtest/gtest.h>

#include "engine/sort/run_creator_kinds.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

namespace flowrun::sort {
namespace {

std::vector<uint64_t> counting(uint64_t from, uint64_t count) {
  std::vector<uint64_t> out(count);
  std::iota(out.begin(), out.end(), from);
  return out;
}

std::vector<uint64_t> random_numbers(uint64_t count, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> out(count);
  for (uint64_t& value : out) value = random();
  return out;
}

const sort_settings by_number = sort_by(type_of({{"k", "u64"}}), columns({0}));

TEST(settings, narrow_rows_are_those_that_bytes_may_decide) {
  const record::row_type type = type_of({{"k", "u64"}, {"v", "u32"}});
  sort_settings s = sort_by(type, columns({0}));
  EXPECT_TRUE(s.narrow());
  s.stable = true;
  EXPECT_FALSE(s.narrow());
  s.stable = false;
  s.unique = true;
  EXPECT_FALSE(s.narrow());
  s.key = columns({1, 0});
  EXPECT_TRUE(s.narrow());
  EXPECT_FALSE(sort_by(type_of({{"k", "bytes[17]"}}), columns({0})).narrow());
  EXPECT_FALSE(sort_by(type_of({{"k", "string"}}), columns({0})).narrow());
}

TEST(run_creation, small_input_stays_in_memory) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    const sort_result result = expect_sorted(settings, keeping_place(), numbers(pool, random_numbers(1000)));
    EXPECT_TRUE(result.in_memory);
    EXPECT_EQ(result.peak_scratch_bytes, 0U);
    EXPECT_EQ(result.fan_in, 0U);
    EXPECT_EQ(result.merge_passes, 0U);
  }
}

TEST(run_creation, nothing_at_all) {
  for (const bool narrow : {true, false}) {
    for (const bool force_spill : {true, false}) {
      sort_settings settings = by_number;
      settings.stable = !narrow;
      settings.force_spill = force_spill;
      settings.unique = force_spill;
      const sort_result result = expect_sorted(settings, keeping_place(), {});
      EXPECT_EQ(result.in_memory, !force_spill);
      EXPECT_EQ(result.num_runs, 0U);
    }
  }
}

TEST(run_creation, forced_spilling_of_one_row) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    settings.force_spill = true;
    const sort_result result = expect_sorted(settings, keeping_place(), numbers(pool, {42}));
    EXPECT_FALSE(result.in_memory);
    EXPECT_EQ(result.num_runs, 1U);
    EXPECT_EQ(result.scratch_bytes, 4096U);
    EXPECT_EQ(result.merge_passes, 1U);
    EXPECT_EQ(result.fan_in, 1U);
  }
}

// Many runs of a half, of which the last ones wait as far as they may stay: never more than N - M/2 is written.
TEST(run_creation, the_last_stretches_stay_in_memory) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    sort_place place;
    place.memory_bytes = MiB;
    place.kept_bytes = MiB / 2;
    place.num_threads = 2;
    place.runs_per_half = 8;
    const uint64_t row_bytes = narrow ? 8 : 24;  // with its entry
    for (const uint64_t num_rows : {uint64_t{200'000}, uint64_t{234'567}}) {
      const sort_result result = expect_sorted(settings, place, numbers(pool, random_numbers(num_rows)));
      EXPECT_TRUE(result.in_memory);
      EXPECT_EQ(result.merge_passes, 1U);
      const uint64_t stretch_bytes = MiB / 16;
      EXPECT_GE(result.num_runs, (num_rows * row_bytes - MiB / 2) / stretch_bytes);
      const uint64_t most_written = num_rows - (MiB / 2 - stretch_bytes) / row_bytes;
      EXPECT_LT(result.scratch_bytes, most_written * 8 + (result.num_runs + most_written / 500) * 4096);
    }
  }
}

TEST(run_creation, sorted_input_makes_one_run_of_many_stretches) {
  record::batch_pool pool;
  std::vector<uint64_t> values(200'000);
  std::iota(values.begin(), values.end(), uint64_t{0});
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    sort_place place;
    place.memory_bytes = MiB;
    place.num_threads = 2;
    place.runs_per_half = 8;
    EXPECT_EQ(expect_sorted(settings, place, numbers(pool, values)).num_runs, 1U);
  }
}

// The last half stays as far as it may; the rest is written: 2(N - M/2) of scratch traffic.
TEST(run_creation, the_last_half_stays_in_memory) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    for (const uint64_t num_rows : {uint64_t{5376}, uint64_t{5377}, uint64_t{20'000}}) {
      const std::vector<batch> input = numbers(pool, random_numbers(num_rows));
      const sort_result kept = expect_sorted(settings, keeping_place(), input);
      const sort_result written = expect_sorted(settings, {}, input);
      if (!kept.in_memory) continue;  // all halves were full
      EXPECT_FALSE(written.in_memory);
      EXPECT_LT(kept.scratch_bytes, written.scratch_bytes);
      EXPECT_EQ(kept.num_runs + 1, written.num_runs);
      EXPECT_EQ(kept.fan_in == 0, kept.num_runs == 0);
      settings.force_spill = true;
      EXPECT_FALSE(expect_sorted(settings, keeping_place(), input).in_memory);
      settings.force_spill = false;
    }
  }
}

// Halves of rows that hardly repeat are not merged before they are written; others are.
TEST(run_creation, halves_are_split_where_unique_would_leave_out_little) {
  record::batch_pool pool;
  sort_settings settings = by_number;
  settings.unique = true;
  sort_place place;
  place.memory_bytes = 10 * MiB;
  place.block_bytes = 128 * KiB;
  place.num_threads = 2;
  place.runs_per_half = 4;
  const auto among = [&](uint64_t num_values) {
    std::vector<uint64_t> values = random_numbers(1'700'000);
    for (uint64_t& value : values) value %= num_values;
    return numbers(pool, values);
  };
  for (const uint64_t num_values : {uint64_t{1} << 60, uint64_t{1} << 18}) {
    const std::vector<batch> input = among(num_values);
    sort_place unsplit = place;
    unsplit.runs_per_half = 1;
    unsplit.splits_halves = false;
    const sort_result whole = expect_sorted(settings, unsplit, input);
    place.splits_halves = true;
    const sort_result split = expect_sorted(settings, place, input);
    if (num_values == uint64_t{1} << 60) {
      EXPECT_GT(split.num_runs, 3 * whole.num_runs) << num_values;
      EXPECT_LE(split.scratch_bytes, whole.scratch_bytes * 5 / 4) << num_values;
    } else {
      EXPECT_EQ(split.num_runs, whole.num_runs) << num_values;
      EXPECT_EQ(split.scratch_bytes, whole.scratch_bytes) << num_values;
    }
  }
  const sort_result in_order = expect_sorted(settings, place, numbers(pool, counting(5, 1'000'000)));
  EXPECT_EQ(in_order.num_runs, 1U);
}

TEST(run_creation, no_more_stays_than_may) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    const uint64_t row_cost = narrow ? 8 : 24;
    sort_place place;
    place.kept_bytes = 100 * row_cost;
    EXPECT_TRUE(expect_sorted(settings, place, numbers(pool, random_numbers(100))).in_memory);
    EXPECT_FALSE(expect_sorted(settings, place, numbers(pool, random_numbers(101))).in_memory);
  }
}

TEST(run_creation, sorted_input_makes_one_run) {
  record::batch_pool pool;
  const std::vector<batch> input = numbers(pool, counting(5, 50'000));
  for (const bool narrow : {true, false}) {
    for (const bool unique : {true, false}) {
      sort_settings settings = by_number;
      settings.stable = !narrow;
      settings.unique = unique;
      const sort_result result = expect_sorted(settings, {}, input);
      EXPECT_EQ(result.num_runs, 1U) << narrow << unique;
      EXPECT_EQ(result.merge_passes, 1U);
    }
  }
}

TEST(run_creation, equal_keys_make_one_run_too) {
  record::batch_pool pool;
  const record::row_type type = type_of({{"k", "u16"}, {"v", "u64"}});
  random_rows source;
  std::vector<batch> input = source.batches(type, pool, 30'000);
  for (batch& b : input)
    for (size_t i = 0; i < b.num_rows; ++i) std::memset(const_cast<std::byte*>(b.row(i)), 7, 2);
  sort_settings settings = sort_by(type, columns({0}));
  settings.stable = true;
  EXPECT_EQ(expect_sorted(settings, {}, input).num_runs, 1U);
  settings.unique = true;  // each half leaves one row, and repeats the one of the run before
  const sort_result unique = expect_sorted(settings, {}, input);
  EXPECT_EQ(unique.rows.size(), 1U);
}

TEST(run_creation, runs_are_about_half_the_memory) {
  record::batch_pool pool;
  const std::vector<batch> input = numbers(pool, random_numbers(100'000));
  sort_place place;
  const sort_result result = expect_sorted(by_number, place, input);
  const uint64_t half = sort_rig(place).resources().creating.half_bytes;
  EXPECT_EQ(result.num_runs, (100'000 * 8 + half - 1) / half);
}

TEST(run_creation, scratch_is_little_more_than_the_rows) {
  record::batch_pool pool;
  random_rows source;
  for (const auto& [type, row_bytes] : {std::pair{type_of({{"k", "u64"}}), 8U}, std::pair{type_of({{"k", "u24"}}), 3U},
                                        std::pair{type_of({{"k", "u64"}, {"v", "u32"}}), 12U},
                                        std::pair{type_of({{"k", "bytes[10]"}, {"v", "bytes[30]"}}), 40U}}) {
    const uint64_t num_rows = 600'000 / row_bytes;
    sort_place place;
    const sort_result result = expect_sorted(sort_by(type, columns({0})), place, source.batches(type, pool, num_rows));
    const double payload = static_cast<double>(num_rows * row_bytes);
    EXPECT_LE(static_cast<double>(result.scratch_bytes), payload * 1.04 + static_cast<double>(result.num_runs) * 4096)
        << row_bytes;
    // Merging frees what it has read: an intermediate merge holds at most its own input and output.
    EXPECT_LE(static_cast<double>(result.peak_scratch_bytes),
              1.15 * static_cast<double>(result.scratch_bytes) + 20 * 4096)
        << row_bytes;
  }
}

// With several threads a large half is sorted in pieces, and the runs are the same.
TEST(run_creation, pieces_make_the_same_runs) {
  record::batch_pool pool;
  for (const char* const number : {"u32", "u24"}) {
    const record::row_type type = type_of({{"k", number}, {"v", "u32"}});
    record::batch_builder builder(type, pool, record::rows_of_any_length(64 * 1024));
    std::vector<batch> input;
    for (const uint64_t value : random_numbers(1'200'000)) {
      const uint64_t repeated = value % 300'000 * 0x10001;
      std::memcpy(builder.append(), &repeated, type.row_bytes());
      if (builder.full()) input.push_back(builder.take());
    }
    input.push_back(builder.take());
    for (const uint64_t limit : {uint64_t{0}, uint64_t{100'000}}) {
      for (const bool unique : {false, true}) {
        sort_settings settings = sort_by(type, columns({1, 0}));
        settings.limit = limit;
        settings.unique = unique;
        EXPECT_GE(expect_same_runs_in_pieces(settings, input), 3U);
      }
    }
  }
}

// Pieces that are in order are not merged, but what repeats across them goes all the same.
TEST(run_creation, pieces_in_order) {
  record::batch_pool pool;
  constexpr uint64_t n = 1'200'000;
  for (const uint64_t repetitions : {uint64_t{1}, uint64_t{3}, uint64_t{70'000}, n}) {
    std::vector<uint64_t> values(n);
    for (uint64_t i = 0; i < n; ++i) values[i] = i / repetitions;
    const std::vector<batch> ascending = numbers(pool, values);
    std::swap(values[700'000], values[700'000 - 100'000]);
    const std::vector<batch> nearly = numbers(pool, values);
    std::reverse(values.begin(), values.end());
    const std::vector<batch> descending = numbers(pool, values);
    for (int options = 0; options < 4; ++options) {
      sort_settings settings = by_number;
      settings.force_spill = true;
      settings.unique = (options & 1) != 0;
      settings.limit = (options & 2) != 0 ? 100'000 : 0;
      const size_t num_runs = expect_same_runs_in_pieces(settings, ascending);
      if (options == 0) {
        EXPECT_EQ(num_runs, 1U) << repetitions;
      }
      expect_same_runs_in_pieces(settings, nearly);
      expect_same_runs_in_pieces(settings, descending);
      if (repetitions == 3) {
        sort_place place = keeping_place(10 * MiB);
        place.block_bytes = 128 * KiB;
        place.num_threads = 2;
        expect_sorted(settings, place, nearly);
      }
      ASSERT_FALSE(HasFailure()) << repetitions << " " << options;
    }
  }
}

// Sorted input that fits is one part, which is not sorted again.
TEST(run_creation, pieces_in_order_that_stay_are_one_part) {
  record::batch_pool pool;
  std::vector<uint64_t> values(500'000);
  std::iota(values.begin(), values.end(), uint64_t{0});
  sort_place place = keeping_place(10 * MiB);
  place.block_bytes = 128 * KiB;
  place.num_threads = 2;
  for (const bool sorted : {true, false}) {
    if (!sorted) std::swap(values[1], values[400'000]);
    sort_rig rig(place);
    std::unique_ptr<run_creator> creator = make_run_creator(by_number, rig.resources());
    const runs::sorted_runs runs = create_runs(rig, *creator, numbers(pool, values));
    ASSERT_EQ(runs.in_memory.size(), 1u);
    EXPECT_EQ(runs.in_memory[0]->parts.size() == 1, sorted);
    EXPECT_EQ(runs.in_memory[0]->num_rows, values.size());
  }
}

TEST(run_creation, pieces_that_stay_or_are_written) {
  record::batch_pool pool;
  for (const uint64_t num_rows : {uint64_t{1'000}, uint64_t{300'000}, uint64_t{700'000}}) {
    std::vector<uint64_t> values = random_numbers(num_rows);
    for (uint64_t& value : values) value %= 200'000;
    const std::vector<batch> input = numbers(pool, values);
    for (int options = 0; options < 4; ++options) {
      sort_settings settings = by_number;
      settings.unique = (options & 1) != 0;
      settings.limit = (options & 2) != 0 ? 54'321 : 0;
      sort_place place = keeping_place(10 * MiB);
      place.block_bytes = 128 * KiB;
      place.num_threads = 2;
      EXPECT_TRUE(expect_sorted(settings, place, input).in_memory);
      if (num_rows != 300'000) continue;
      settings.force_spill = true;
      EXPECT_FALSE(expect_sorted(settings, place, input).in_memory);
    }
  }
}

// One thread distributes random words over buckets where a half is large: one that is written, and one that stays.
TEST(run_creation, halves_in_buckets) {
  record::batch_pool pool;
  std::vector<uint64_t> values = random_numbers(2'300'000);
  for (uint64_t& value : values) value %= 3'000'000;
  const std::vector<batch> input = numbers(pool, values);
  sort_place place = keeping_place(36 * MiB);
  place.block_bytes = 128 * KiB;
  place.num_threads = 1;
  for (const bool unique : {false, true}) {
    sort_settings settings = by_number;
    settings.unique = unique;
    EXPECT_TRUE(expect_sorted(settings, place, input).in_memory);
  }
}

TEST(run_creation, limit_spills_no_more_than_it_needs) {
  record::batch_pool pool;
  for (const bool narrow : {true, false}) {
    sort_settings settings = by_number;
    settings.stable = !narrow;
    settings.limit = 10;
    const sort_result result = expect_sorted(settings, {}, numbers(pool, random_numbers(100'000)));
    EXPECT_LE(result.scratch_bytes, result.num_runs * 4096);
    EXPECT_EQ(result.rows.size(), 10U);
  }
}

TEST(run_creation, refuses_too_little_memory) {
  for (const bool narrow : {true, false}) {
    sort_place place;
    place.memory_bytes = sizes::least_sort_memory(4096) - 1;
    sort_rig rig(place);
    sort_settings settings = by_number;
    settings.stable = !narrow;
    const error e = error_of([&] { make_run_creator(settings, rig.resources()); });
    EXPECT_EQ(e.kind(), error_kind::resources);
    EXPECT_NE(e.hint(), "");
  }
}

TEST(run_creation, runs_that_nobody_merges_are_freed) {
  record::batch_pool pool;
  sort_rig rig({});
  std::unique_ptr<run_creator> creator = make_run_creator(by_number, rig.resources());
  runs::sorted_runs runs = create_runs(rig, *creator, numbers(pool, random_numbers(50'000)));
  EXPECT_EQ(runs.num_rows, 50'000U);
  EXPECT_GT(rig.blocks().used_bytes(), 400'000U);
  runs::sorted_runs other = std::move(runs);
  other = runs::sorted_runs();
  EXPECT_EQ(runs.runs.size(), 0U);
}

}  // namespace
}  // namespace flowrun::sort
