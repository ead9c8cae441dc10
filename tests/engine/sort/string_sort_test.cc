// Sorting rows with strings, against std::stable_sort.

#include <gtest/gtest.h>

#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

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
  for (const size_t num_bytes : {size_t{30'000}, size_t{200'000}}) {  // longer than blocks may be, longer than the half
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
