// Halves of rows that are sorted by index, in pieces on several threads: the same runs as in one piece, the same
// result.

#include <gtest/gtest.h>

#include <map>

#include "tests/engine/sort/sort_rig.h"

namespace flowrun::sort {
namespace {

struct shape {
  const char* name;
  record::row_type type;
  record::key key;
  size_t num_rows;  // of several halves of 5 MiB
};

std::vector<shape> shapes() {
  return {{"key of 4 bytes", type_of({{"k", "u32"}, {"v", "bytes[28]"}}), columns({0}), 260'000},
          {"key of 16 bytes", type_of({{"k", "u64"}, {"l", "u64"}, {"v", "bytes[40]"}}), columns({1, 0}), 180'000},
          {"key of 20 bytes", type_of({{"k", "bytes[20]"}, {"v", "bytes[40]"}}), {{0, true, 0, 0}}, 180'000},
          {"text", type_of({{"k", "string"}, {"v", "u64"}}), columns({0}), 230'000}};
}

sort_place with_threads(unsigned num_threads) {
  sort_place place;
  place.memory_bytes = 10 * MiB;
  place.block_bytes = 128 * KiB;
  place.num_threads = num_threads;
  return place;
}

sort_settings with_options(const shape& s, unsigned options) {
  sort_settings settings = sort_by(s.type, s.key);
  settings.stable = true;
  settings.unique = (options & 1) != 0;
  settings.limit = (options & 2) != 0 ? 15'000 : 0;
  settings.force_spill = true;
  return settings;
}

class wide_pieces : public testing::TestWithParam<uint64_t> {
 protected:
  std::vector<batch> input(const shape& s, size_t num_rows) {
    random_rows source;
    source.distinct = GetParam();
    return source.batches(s.type, pool_, num_rows);
  }
  record::batch_pool pool_;
};

TEST_P(wide_pieces, make_the_same_runs) {
  const std::vector<shape> all = shapes();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<batch> rows = input(all[i], all[i].num_rows);
    for (const size_t options : {i % 2, 2 + (i + 1) % 2}) {  // each shape without and with a limit, with unique once
      const size_t num_runs = expect_same_runs_in_pieces(with_options(all[i], static_cast<unsigned>(options)), rows);
      // Of three values a limit may leave the same one of each half, which is one run.
      EXPECT_GE(num_runs, GetParam() == 3 ? 1U : 2U) << all[i].name;
      ASSERT_FALSE(HasFailure()) << all[i].name << ", options " << options;
    }
  }
}

TEST_P(wide_pieces, give_the_sorted_rows) {
  const std::vector<shape> all = shapes();
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<batch> rows = input(all[i], all[i].num_rows / 8);
    const auto options = static_cast<unsigned>((i + GetParam()) % 4);
    sort_place place = with_threads(3);
    place.memory_bytes = MiB;
    place.block_bytes = 8 * KiB;
    expect_sorted(with_options(all[i], options), place, rows);
    ASSERT_FALSE(HasFailure()) << all[i].name << ", options " << options;
  }
}

INSTANTIATE_TEST_SUITE_P(distinct, wide_pieces, testing::Values(0U, 3U, 20'000U));

// What fits stays, piece by piece; pieces in order are one, as far as they are.
TEST(wide_pieces_that_stay, are_merged_on_the_way_out) {
  record::batch_pool pool;
  constexpr uint64_t n = 100'000;
  std::vector<uint64_t> values(n);
  std::iota(values.begin(), values.end(), uint64_t{0});
  for (const char* order : {"sorted", "two exchanged", "random"}) {
    if (order == std::string("two exchanged")) std::swap(values[1], values[80'000]);
    if (order == std::string("random")) std::shuffle(values.begin(), values.end(), std::mt19937_64(1));
    const std::vector<batch> input = numbers(pool, values);
    for (unsigned options = 0; options < 4; ++options) {
      sort_settings settings = sort_by(type_of({{"k", "u64"}}), columns({0}));
      settings.stable = true;
      settings.unique = (options & 1) != 0;
      settings.limit = (options & 2) != 0 ? 54'321 : 0;
      sort_place place = keeping_place(10 * MiB);
      place.block_bytes = 128 * KiB;
      place.num_threads = 2;
      const sort_result result = expect_sorted(settings, place, input);
      EXPECT_TRUE(result.in_memory);
      EXPECT_EQ(result.peak_scratch_bytes, 0U);
      EXPECT_EQ(result.fan_in, 0U);
      sort_rig rig(place);
      std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
      const runs::sorted_runs runs = create_runs(rig, *creator, input);
      ASSERT_EQ(runs.in_memory.size(), 1U);
      if (settings.limit == 0) {
        EXPECT_EQ(runs.in_memory[0]->parts.size() == 1, order == std::string("sorted")) << order;
        EXPECT_EQ(runs.in_memory[0]->num_rows, n);
      }
    }
  }
}

// A last half that stays in pieces is merged with runs; with long rows, for which slices are too large, by the tree.
TEST(wide_pieces_that_stay, are_merged_with_runs) {
  record::batch_pool pool;
  for (const uint32_t row_bytes : {40U, 3'000U}) {
    const record::row_type type = type_of({{"k", "bytes[20]"}, {"v", row_bytes == 40 ? "bytes[20]" : "bytes[2980]"}});
    random_rows source;
    source.distinct = 5'000;
    const std::vector<batch> input = source.batches(type, pool, 3'500'000 / row_bytes, 16 * 1024);
    for (const bool unique : {false, true}) {
      sort_settings settings = sort_by(type, columns({0}));
      settings.stable = true;
      settings.unique = unique;
      sort_place place = keeping_place(2 * MiB);
      place.block_bytes = 16 * KiB;
      place.num_threads = 3;
      const sort_result result = expect_sorted(settings, place, input);
      EXPECT_TRUE(result.in_memory);
      EXPECT_GE(result.num_runs, 1U);
    }
  }
}

// Each key once per run, also where it goes on in the next slice, with its total.
TEST(wide_pieces_combined, leave_each_key_once_per_run) {
  class adding final : public row_combiner {
   public:
    void add(std::byte* into, const std::byte* row) const override {
      const uint64_t sum = record::load_unsigned(into + 16, 8) + record::load_unsigned(row + 16, 8);
      std::memcpy(into + 16, &sum, sizeof sum);
    }
  };
  record::batch_pool pool;
  const record::row_type type = type_of({{"k", "u64"}, {"l", "u64"}, {"n", "u64"}});
  for (const uint64_t distinct : {uint64_t{2}, uint64_t{30'000}, uint64_t{200'000}}) {
    std::mt19937_64 random(distinct);
    std::map<uint64_t, uint64_t> expected;
    std::vector<batch> input;
    record::batch_builder builder(type, pool, record::rows_of_any_length(64 * 1024));
    for (size_t i = 0; i < 400'000; ++i) {
      const uint64_t row[3] = {random() % distinct, 7, random() % 1000};
      std::memcpy(builder.append(), row, sizeof row);
      expected[row[0]] += row[2];
      if (builder.full()) input.push_back(builder.take());
    }
    if (!builder.empty()) input.push_back(builder.take());
    sort_settings settings = sort_by(type, columns({0, 1}));
    settings.combiner = std::make_shared<adding>();
    settings.force_spill = true;
    sort_rig rig(with_threads(3));
    std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
    runs::sorted_runs runs = create_runs(rig, *creator, input);
    ASSERT_GE(runs.runs.size(), 3U);
    for (const runs::run& r : runs.runs) EXPECT_LE(r.num_rows, expected.size());
    std::unique_ptr<run_merger> merger = make_run_merger(settings, rig.resources(), std::move(runs), 64 * 1024);
    std::map<uint64_t, uint64_t> sums;
    uint64_t last = 0;
    for (const batch& b : merge_runs(rig, settings, *merger)) {
      for (size_t i = 0; i < b.num_rows; ++i) {
        const uint64_t k = record::load_unsigned(b.row(i), 8);
        ASSERT_GE(k, last);
        last = k;
        sums[k] += record::load_unsigned(b.row(i) + 16, 8);
      }
    }
    EXPECT_TRUE(sums == expected) << distinct;
  }
}

}  // namespace
}  // namespace flowrun::sort
