// The whole sort, run creation and merging, against std::stable_sort: row shapes, options, memory, threads, disks.

#include <gtest/gtest.h>

#include "engine/record/hash.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/sanitized.h"

namespace flowrun::sort {
namespace {

// A row type and keys to sort it by.
struct shape {
  std::string name;
  record::row_type type;
  std::vector<record::key> keys;
};

std::vector<shape> shapes() {
  return {
      {"1 byte", type_of({{"a", "u8"}}), {columns({0}), {{0, true, 0, 0}}}},
      {"bool", type_of({{"a", "bool"}}), {columns({0})}},
      {"2 bytes", type_of({{"a", "i16"}}), {columns({0})}},
      {"3 bytes", type_of({{"a", "u24"}}), {columns({0}), {{0, true, 0, 0}}}},
      {"5 bytes", type_of({{"a", "u8"}, {"b", "i32"}}), {columns({1}), columns({0, 1})}},
      {"8 bytes", type_of({{"a", "f64"}}), {columns({0})}},
      {"two u32", type_of({{"a", "u32"}, {"b", "u32"}}), {columns({0}), columns({1, 0}), {{1, true, 0, 0}}}},
      {"9 bytes", type_of({{"a", "u64"}, {"b", "bool"}}), {columns({1}), columns({0})}},
      {"12 bytes", type_of({{"a", "u64"}, {"b", "f32"}}), {columns({0}), columns({1, 0})}},
      {"16 bytes",
       type_of({{"a", "u64"}, {"b", "i64"}}),
       {columns({0}), columns({0, 1}), {{1, true, 0, 0}, {0, false, 0, 0}}}},
      {"bytes[15]", type_of({{"a", "bytes[15]"}}), {{{0, false, 4, 3}}, {{0, true, 4, 3}, {0, false, 2, 8}}}},
      {"17 bytes", type_of({{"a", "u64"}, {"b", "u64"}, {"c", "u8"}}), {columns({0}), columns({2, 1, 0})}},
      {"32 bytes",
       type_of({{"a", "u64"}, {"b", "u64"}, {"c", "u64"}, {"d", "f64"}}),
       {columns({3}), columns({0, 1, 2, 3})}},
      {"100 bytes, key of 10", type_of({{"k", "bytes[10]"}, {"v", "bytes[90]"}}), {columns({0}), {{0, true, 0, 0}}}},
      {"100 bytes, key of 40", type_of({{"k", "bytes[40]"}, {"v", "bytes[60]"}}), {columns({0}), {{0, false, 20, 20}}}},
      {"300 bytes, keys at both ends", type_of({{"a", "i16"}, {"v", "bytes[296]"}, {"b", "u16"}}), {columns({2, 0})}},
  };
}

std::vector<std::string> shape_names() {
  std::vector<std::string> out;
  for (const shape& s : shapes()) out.push_back(s.name);
  return out;
}

std::string label(const testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return out;
}

class each_shape : public testing::TestWithParam<std::string> {
 protected:
  const shape shape_ = [] {
    for (const shape& s : shapes())
      if (s.name == GetParam()) return s;
    return shape{};
  }();
  record::batch_pool pool_;
  random_rows source_;

  std::vector<batch> input(size_t num_bytes, uint64_t distinct) {
    source_.distinct = distinct;
    // A row of fewer bytes takes eight in memory.
    return source_.batches(shape_.type, pool_, num_bytes / std::max(shape_.type.row_bytes(), 8U), 8 * 1024);
  }
};

TEST_P(each_shape, in_memory) {
  for (const record::key& key : shape_.keys)
    EXPECT_TRUE(expect_sorted(sort_by(shape_.type, key), keeping_place(), input(8'000, 0)).in_memory);
}

// Several runs of each half of the memory; what comes last stays, as several runs, or is written.
TEST_P(each_shape, short_runs) {
  for (const unsigned runs_per_half : {2U, 8U}) {
    sort_place place;
    place.memory_bytes = MiB / 2;
    place.num_threads = 3;
    place.runs_per_half = runs_per_half;
    const std::vector<batch> rows = input(sanitized ? 400'000 : 1'250'000, runs_per_half == 2 ? 0 : 11);
    for (const record::key& key : shape_.keys) {
      place.kept_bytes = 0;
      const sort_result written = expect_sorted(sort_by(shape_.type, key), place, rows);
      EXPECT_FALSE(written.in_memory);
      place.kept_bytes = place.memory_bytes / 2;
      const sort_result kept = expect_sorted(sort_by(shape_.type, key), place, rows);
      EXPECT_TRUE(kept.in_memory);
      EXPECT_LT(kept.scratch_bytes, written.scratch_bytes);
      sort_settings first = sort_by(shape_.type, key);
      first.unique = true;
      first.limit = 1'000;
      expect_sorted(first, place, rows);
    }
  }
}

TEST_P(each_shape, spilled_and_merged_at_several_levels_in_the_least_memory) {
  for (const uint64_t distinct : {uint64_t{0}, uint64_t{11}}) {
    const std::vector<batch> rows = input(distinct == 0 ? 1'400'000 : 500'000, distinct);
    for (const record::key& key : shape_.keys) {
      const sort_result result = expect_sorted(sort_by(shape_.type, key), {}, rows);
      EXPECT_GT(result.num_runs, distinct == 0 && shape_.type.row_bytes() > 1 ? 25U : 0U);
      if (result.num_runs > result.fan_in) {
        EXPECT_GE(result.merge_passes, 2U);
      }
    }
  }
}

TEST_P(each_shape, stable_and_unique_and_limited) {
  for (const uint64_t distinct : {uint64_t{0}, uint64_t{700}}) {
    const std::vector<batch> rows = input(200'000, distinct);
    for (const record::key& key : shape_.keys) {
      for (int options = 1; options < 8; ++options) {
        sort_settings settings = sort_by(shape_.type, key);
        settings.stable = (options & 1) != 0;
        settings.unique = (options & 2) != 0;
        settings.limit = (options & 4) != 0 ? 777 : 0;
        expect_sorted(settings, distinct == 0 ? keeping_place() : sort_place{}, rows);
        if (HasFailure()) {
          ADD_FAILURE() << "stable " << settings.stable << ", unique " << settings.unique << ", limit "
                        << settings.limit;
          return;
        }
      }
    }
  }
}

TEST_P(each_shape, with_threads_on_disks) {
  sort_place place;
  place.num_threads = 3;
  place.on_disk = true;
  place.num_disks = 3;
  place.memory_bytes = place.kept_bytes = 256 * 1024;
  const std::vector<batch> rows = input(800'000, 0);
  sort_settings settings = sort_by(shape_.type, shape_.keys.front());
  expect_sorted(settings, place, rows);
  settings.unique = true;
  expect_sorted(settings, place, rows);
}

TEST_P(each_shape, forced_to_spill_a_few_rows) {
  sort_settings settings = sort_by(shape_.type, shape_.keys.back());
  settings.force_spill = true;
  for (size_t num_rows = 0; num_rows < 4; ++num_rows) {
    const sort_result result = expect_sorted(settings, {}, input(num_rows * std::max(shape_.type.row_bytes(), 8U), 0));
    EXPECT_FALSE(result.in_memory);
    EXPECT_EQ(result.num_runs, num_rows == 0 ? 0U : 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(rows, each_shape, testing::ValuesIn(shape_names()), label);

std::vector<batch> patterned(record::batch_pool& pool, const std::function<uint64_t(uint64_t)>& at, uint64_t num_rows) {
  std::vector<uint64_t> values(num_rows);
  for (uint64_t i = 0; i < num_rows; ++i) values[i] = at(i);
  return numbers(pool, values);
}

TEST(external_sort, patterns_of_input) {
  record::batch_pool pool;
  constexpr uint64_t n = 60'000;
  const std::vector<std::pair<const char*, std::function<uint64_t(uint64_t)>>> patterns = {
      {"descending", [](uint64_t i) { return n - i; }},
      {"all equal", [](uint64_t) { return 7; }},
      {"interleaved runs", [](uint64_t i) { return i % 2 == 0 ? i : n - i; }},
      {"each run above the one before but for one row", [](uint64_t i) { return i % 5000 == 4999 ? 0 : i; }},
      {"two values", [](uint64_t i) { return i * 2654435761U % 2; }},
      {"largest number", [](uint64_t i) { return i % 3 == 0 ? ~uint64_t{0} : i; }},
      {"saw teeth longer than a run", [](uint64_t i) { return i % 17'000; }},
  };
  for (const auto& [name, at] : patterns) {
    const std::vector<batch> input = patterned(pool, at, n);
    for (int options = 0; options < 4; ++options) {
      sort_settings settings = sort_by(type_of({{"k", "u64"}}), columns({0}));
      settings.unique = (options & 1) != 0;
      settings.stable = (options & 2) != 0;
      expect_sorted(settings, {}, input);
      EXPECT_FALSE(HasFailure()) << name << " " << options;
    }
  }
}

TEST(external_sort, every_memory_share_gives_the_same_rows) {
  record::batch_pool pool;
  random_rows source;
  source.distinct = 5000;
  const record::row_type type = type_of({{"a", "u32"}, {"b", "bytes[20]"}});
  const std::vector<batch> input = source.batches(type, pool, 30'000, 8 * 1024);
  const sort_settings settings = sort_by(type, columns({0}));
  uint64_t most_passes = 0;
  for (const uint64_t memory :
       {sizes::least_sort_memory(4096), uint64_t{130'000}, uint64_t{200'000}, uint64_t{555'555}, uint64_t{4'000'000}}) {
    sort_place place;
    place.memory_bytes = memory;
    most_passes = std::max(most_passes, expect_sorted(settings, place, input).merge_passes);
  }
  EXPECT_GE(most_passes, 2U);
}

TEST(external_sort, larger_blocks_and_one_disk) {
  record::batch_pool pool;
  random_rows source;
  const record::row_type type = type_of({{"a", "u64"}, {"b", "u64"}});
  const std::vector<batch> input = source.batches(type, pool, 200'000);
  sort_place place;
  place.block_bytes = 16384;
  place.memory_bytes = sizes::least_sort_memory(16384);
  place.num_disks = 1;
  expect_sorted(sort_by(type, columns({1})), place, input);
}

// The first row of each key in input order stays, also where keys repeat in halves, runs and merges.
TEST(external_sort, unique_keeps_the_first_row_of_the_input) {
  record::batch_pool pool;
  const record::row_type type = type_of({{"k", "u16"}, {"number", "u64"}});
  record::batch_builder builder(type, pool, record::rows_of_any_length(8192));
  std::vector<batch> input;
  for (uint64_t i = 0; i < 60'000; ++i) {
    const auto key = static_cast<uint16_t>(i * 40503 % 1000);
    std::byte* row = builder.append();
    std::memcpy(row, &key, 2);
    std::memcpy(row + 2, &i, 8);
    if (builder.full()) input.push_back(builder.take());
  }
  input.push_back(builder.take());
  sort_settings settings = sort_by(type, columns({0}));
  settings.unique = true;
  const sort_result result = expect_sorted(settings, {}, input);
  ASSERT_EQ(result.rows.size(), 1000U);
  for (const std::string& row : result.rows) {
    uint64_t number = 0;
    std::memcpy(&number, row.data() + 2, 8);
    EXPECT_LT(number, 1000U);
  }
}

TEST(external_sort, rows_are_the_same_multiset) {
  record::batch_pool pool;
  random_rows source;
  const record::row_type type = type_of({{"a", "u40"}, {"b", "f32"}});
  const std::vector<batch> input = source.batches(type, pool, 100'000);
  const record::row_hasher hasher(type);
  record::multiset_hash before, after;
  for (const batch& b : input) before += hasher.hash(b);
  const sort_settings settings = sort_by(type, columns({1}));
  sort_rig rig({});
  std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
  std::unique_ptr<run_merger> merger =
      make_run_merger(settings, rig.resources(), create_runs(rig, *creator, input), 8192);
  for (const batch& b : merge_runs(rig, settings, *merger)) after += hasher.hash(b);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace flowrun::sort
