// Sorting rows with strings, against std::stable_sort.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/base/machine.h"
#include "engine/base/units.h"
#include "engine/sort/row_stretch.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"
#include "tests/support/sanitized.h"

namespace flowrun::sort {
namespace {

const record::row_type lines = type_of({{"line", "string"}});
const record::row_type people = type_of({{"id", "u32"}, {"name", "string"}, {"note", "string"}, {"born", "i16"}});

// All options, in the least memory and in more, on one thread and on several.
void expect_all_ways(const record::row_type& type, const record::key& key, const std::vector<batch>& input) {
  for (int options = 0; options < 8; ++options) {
    sort_settings settings = sort_by(type, key);
    settings.unique = (options & 1) != 0;
    settings.limit = (options & 2) != 0 ? 500 : 0;
    sort_place place;
    place.memory_bytes = (options & 4) != 0 ? 400'000 : 200'000;
    place.kept_bytes = (options & 3) != 0 ? place.memory_bytes : 0;
    place.num_threads = (options & 4) != 0 ? 2 : 0;
    expect_sorted(settings, place, input);
    ASSERT_FALSE(testing::Test::HasFailure()) << options;
  }
}

TEST(string_sort, short_lines) {
  record::batch_pool pool;
  random_rows source;
  source.max_string_bytes = 8;
  const std::vector<batch> input = source.batches(lines, pool, 40'000, 8 * 1024);
  expect_all_ways(lines, columns({0}), input);
  expect_all_ways(lines, {{0, true, 0, 0}}, input);
}

TEST(string_sort, common_prefixes_longer_than_the_normalised_one) {
  record::batch_pool pool;
  random_rows source;
  source.string_prefix = std::string(17, 'p') + std::string("\0q", 2);
  source.max_string_bytes = 4;
  const std::vector<batch> input = source.batches(lines, pool, 20'000, 8 * 1024);
  expect_all_ways(lines, columns({0}), input);
  expect_all_ways(lines, {{0, true, 0, 0}}, input);
}

TEST(string_sort, empty_lines_only) {
  record::batch_pool pool;
  random_rows source;
  source.max_string_bytes = 0;
  expect_all_ways(lines, columns({0}), source.batches(lines, pool, 20'000, 8 * 1024));
}

TEST(string_sort, several_columns_in_any_order) {
  record::batch_pool pool;
  random_rows source;
  source.distinct = 40;
  const std::vector<batch> input = source.batches(people, pool, 12'000, 8 * 1024);
  expect_all_ways(people, columns({1, 2}), input);
  expect_all_ways(people, {{2, true, 0, 0}, {3, false, 0, 0}, {1, false, 0, 0}}, input);
}

TEST(string_sort, strings_outside_the_key) {
  record::batch_pool pool;
  random_rows source;
  source.max_string_bytes = 60;
  const std::vector<batch> input = source.batches(people, pool, 8'000, 8 * 1024);
  expect_all_ways(people, columns({0}), input);
  source.distinct = 9;
  expect_all_ways(people, columns({3, 0}), source.batches(people, pool, 8'000, 8 * 1024));
}

TEST(string_sort, at_several_levels) {
  record::batch_pool pool;
  random_rows source;
  source.max_string_bytes = 40;
  sort_place place;
  place.memory_bytes = 160'000;
  const sort_result result =
      expect_sorted(sort_by(lines, columns({0})), place, source.batches(lines, pool, 40'000, 8 * 1024));
  EXPECT_GT(result.num_runs, result.fan_in);
  EXPECT_GE(result.merge_passes, 2U);
}

TEST(string_sort, some_lines_longer_than_a_block) {
  record::batch_pool pool;
  random_rows source;
  std::vector<batch> input = source.batches(lines, pool, 20'000, 8 * 1024);
  record::batch_builder builder(lines, pool, record::rows_of_any_length(64 * 1024));
  for (const size_t num_bytes :
       {size_t{4000}, size_t{4024}, size_t{4032}, size_t{5000}, size_t{12'000}, size_t{20'000}})
    for (const char c : {'a', 'b'}) builder.put_string(builder.append(), std::string(num_bytes, c));
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(input.size() / 2), builder.take());
  for (const bool unique : {true, false}) {
    sort_settings settings = sort_by(lines, columns({0}));
    settings.unique = unique;
    EXPECT_GT(expect_sorted(settings, keeping_place(600'000), input).num_runs, 0U);
  }
}

// Keys of which each block has one or two, so that what runs would keep of them is as long as the input. They are alike
// for long, and some are equal.
std::vector<batch> long_keys(record::batch_pool& pool, const record::row_type& type, size_t num_rows) {
  std::mt19937_64 draw(1);
  std::vector<batch> input;
  record::batch_builder builder(type, pool, record::rows_of_any_length(64 * 1024));
  for (size_t i = 0; i < num_rows; ++i) {
    std::byte* const row = builder.append();
    std::string text(12'000 + draw() % 8'000, 'x');
    if (draw() % 4 == 0) text = std::string(16'000, 'x');
    text += std::to_string(draw() % (num_rows / 2));
    const auto number = static_cast<uint32_t>(i);
    if (type.num_columns() > 1) std::memcpy(row + type[0].offset, &number, sizeof number);
    builder.put_string(row + type[type.num_columns() - 1].offset, text);
    if (builder.full()) input.push_back(builder.take());
  }
  if (!builder.empty()) input.push_back(builder.take());
  return input;
}

// The runs of such a sort, made with little memory.
runs::sorted_runs runs_of(sort_rig& rig, const sort_settings& settings, const std::vector<batch>& input) {
  std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
  return create_runs(rig, *creator, input);
}

TEST(string_sort, keys_too_long_to_be_kept_for_each_block) {
  const record::row_type numbered = type_of({{"number", "u32"}, {"line", "string"}});
  record::batch_pool pool;
  const std::vector<batch> input = long_keys(pool, numbered, 1'000);
  for (int options = 0; options < 16; options += sanitized ? 3 : 1) {
    sort_settings settings = sort_by(numbered, {{1, (options & 1) != 0, 0, 0}});
    settings.stable = true;
    settings.unique = (options & 2) != 0;
    settings.limit = (options & 4) != 0 ? 100 : 0;
    sort_place place;
    place.memory_bytes = 600'000;
    place.num_threads = (options & 8) != 0 ? 3 : 0;
    place.coding.how = (options & 8) != 0 ? runs::compression::lz4 : runs::compression::none;
    const sort_result result = expect_sorted(settings, place, input);
    EXPECT_GE(result.merge_passes, 2U);
    ASSERT_FALSE(testing::Test::HasFailure()) << options;
  }
}

TEST(string_sort, runs_keep_no_more_of_their_first_rows_than_they_may) {
  record::batch_pool pool;
  const std::vector<batch> input = long_keys(pool, lines, 1'000);
  sort_place place;
  place.memory_bytes = 600'000;
  sort_rig rig(place);
  const runs::sorted_runs made = runs_of(rig, sort_by(lines, columns({0})), input);
  uint64_t kept = 0;
  for (const runs::run& r : made.runs) kept += r.first_rows.capacity();
  EXPECT_LE(kept, sizes::uncounted_bytes().first_keys + place.memory_bytes / 8);
  EXPECT_FALSE(runs::know_first_rows(made.runs));
}

// Of a row that begins with what the key doesn't need.
TEST(string_sort, runs_keep_the_key_alone) {
  const record::row_type behind = type_of({{"front", "bytes[3000]"}, {"key", "string"}, {"note", "string"}});
  record::batch_pool pool;
  random_rows source;
  source.max_string_bytes = 30;
  const std::vector<batch> input = source.batches(behind, pool, 400, 64 * 1024);
  sort_place place;
  place.memory_bytes = 600'000;
  const sort_settings settings = sort_by(behind, columns({1}));
  expect_sorted(settings, place, input);
  sort_rig rig(place);
  const runs::sorted_runs made = runs_of(rig, settings, input);
  ASSERT_FALSE(made.runs.empty());
  for (const runs::run& r : made.runs) EXPECT_LE(r.first_rows.size(), r.blocks.size() * (8 + 30));
}

// Entries of short rows take most of a stretch, strings of long ones all of it.
TEST(string_sort, a_stretch_takes_no_more_memory_where_long_rows_follow_short_ones) {
  if (sanitized) GTEST_SKIP() << "a sanitizer's own memory is not the stretch's";
  constexpr uint64_t room = 64 * MiB;
  const sort_settings settings = sort_by(lines, columns({0}));
  const stretch_rules rules(settings, room, 1);
  row_stretch stretch(rules, [](std::function<void()> work) { work(); });
  record::batch_pool pool;
  record::batch_builder builder(lines, pool, record::rows_of_any_length(64 * 1024));
  const uint64_t before = resident_bytes();
  uint64_t most = 0;
  for (const size_t length : {size_t{0}, size_t{50'000}, size_t{10}}) {
    for (;;) {
      while (!builder.full()) builder.put_string(builder.append(), std::string(length, 'x'));
      const batch rows = builder.take();
      const size_t taken = stretch.fill(rows, {room, room, false});
      if (taken < rows.num_rows) break;
    }
    most = std::max(most, resident_bytes());
    stretch.clear();
  }
  EXPECT_LT(most - before, room + room / 8 + 2 * MiB);
}

TEST(string_sort, sorted_lines_make_one_run) {
  record::batch_pool pool;
  record::batch_builder builder(lines, pool, record::rows_of_any_length(8 * 1024));
  std::vector<batch> input;
  for (int i = 0; i < 20'000; ++i) {
    builder.put_string(builder.append(), "line " + std::to_string(1'000'000 + i / 2));
    if (builder.full()) input.push_back(builder.take());
  }
  input.push_back(builder.take());
  EXPECT_EQ(expect_sorted(sort_by(lines, columns({0})), {}, input).num_runs, 1U);
}

TEST(string_sort, on_disks_with_threads) {
  record::batch_pool pool;
  random_rows source;
  sort_place place;
  place.memory_bytes = 300'000;
  place.num_threads = 3;
  place.on_disk = true;
  expect_sorted(sort_by(people, columns({1, 0})), place, source.batches(people, pool, 30'000, 8 * 1024));
}

TEST(string_sort, a_row_longer_than_the_memory_is_refused) {
  record::batch_pool pool;
  for (const size_t num_bytes : {size_t{40'000}, size_t{200'000}}) {  // longer than blocks may be, longer than the half
    sort_rig rig({});
    record::batch_builder builder(lines, pool, record::rows_of_any_length());
    builder.put_string(builder.append(), std::string(num_bytes, 'x'));
    std::vector<batch> input = {builder.take()};
    sort_settings settings = sort_by(lines, columns({0}));
    settings.force_spill = true;
    std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
    const error e = error_of([&] { create_runs(rig, *creator, input); });
    EXPECT_EQ(e.kind(), error_kind::resources) << e.what();
    EXPECT_NE(e.hint().find("-m"), std::string::npos);
  }
}

}  // namespace
}  // namespace flowrun::sort
