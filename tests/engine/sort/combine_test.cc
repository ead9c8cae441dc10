// Rows of equal keys become one on their way through run creation and merging; what comes out, added up, is what the
// input adds up to, and scratch holds each key about once per run.

#include <gtest/gtest.h>

#include <map>

#include "tests/engine/sort/sort_rig.h"

namespace flowrun::sort {
namespace {

// Adds up the column n, a u64, and keeps the last value of the column v, if the rows have one.
class adding final : public row_combiner {
 public:
  explicit adding(const record::row_type& type) : n_(type[*type.index_of("n")].offset) {
    if (const auto v = type.index_of("v")) v_ = type[*v].offset;
  }
  void add(std::byte* into, const std::byte* row) const override {
    const uint64_t sum = record::load_unsigned(into + n_, 8) + record::load_unsigned(row + n_, 8);
    std::memcpy(into + n_, &sum, sizeof sum);
    if (v_) std::memcpy(into + *v_, row + *v_, sizeof(uint64_t));
  }

 private:
  const uint32_t n_;
  std::optional<uint32_t> v_;
};

struct combined {
  uint64_t n = 0;
  uint64_t v = 0;
  bool operator==(const combined&) const = default;
};

// Keys, in a form that doesn't depend on where strings lie, in the order in which they come, with their totals. Fails
// if a key comes back after another one.
using totals = std::vector<std::pair<std::string, combined>>;
totals add_up(const record::row_type& type, const record::row_type& key_type, const std::vector<batch>& rows) {
  totals out;
  const uint32_t n = type[*type.index_of("n")].offset;
  const auto v = type.index_of("v");
  for (const batch& b : rows) {
    for (size_t i = 0; i < b.num_rows; ++i) {
      std::string key = record::content_of(key_type, b.row(i), b.heap);
      if (out.empty() || out.back().first != key) out.emplace_back(std::move(key), combined{});
      out.back().second.n += record::load_unsigned(b.row(i) + n, 8);
      if (v) out.back().second.v = record::load_unsigned(b.row(i) + type[*v].offset, 8);
    }
  }
  return out;
}

struct shape {
  const char* name;
  record::row_type type, key_type;  // the key's columns are in front
  bool stable = false;
};
std::vector<shape> shapes() {
  return {{"9 bytes", type_of({{"k", "u8"}, {"n", "u64"}}), type_of({{"k", "u8"}})},
          {"10 bytes", type_of({{"k", "i16"}, {"n", "u64"}}), type_of({{"k", "i16"}})},
          {"16 bytes", type_of({{"k", "f32"}, {"l", "u32"}, {"n", "u64"}}), type_of({{"k", "f32"}, {"l", "u32"}})},
          {"last value", type_of({{"k", "u32"}, {"n", "u64"}, {"v", "u64"}}), type_of({{"k", "u32"}}), true},
          {"key of 20 bytes", type_of({{"k", "bytes[20]"}, {"n", "u64"}}), type_of({{"k", "bytes[20]"}})},
          {"text", type_of({{"k", "string"}, {"n", "u64"}}), type_of({{"k", "string"}})}};
}

struct outcome {
  totals result;
  uint64_t written_rows = 0;  // by run creation
  size_t num_runs = 0;
  uint64_t merge_passes = 0;
  uint64_t fan_in = 0;
  uint64_t merged_rows = 0;  // that the last merge gave
  uint64_t scratch_bytes = 0;
};

outcome sort_and_combine(sort_settings settings, const shape& s, const sort_place& place,
                         const std::vector<batch>& input) {
  sort_rig rig(place);
  outcome out;
  std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
  runs::sorted_runs runs = create_runs(rig, *creator, input);
  creator.reset();
  out.written_rows = runs.num_rows;
  out.num_runs = runs.runs.size();
  out.scratch_bytes = rig.blocks().used_bytes();
  settings.limit = 0;
  std::unique_ptr<run_merger> merger = make_run_merger(settings, rig.resources(), std::move(runs), place.batch_bytes);
  out.merge_passes = merger->merge_passes();
  out.fan_in = merger->fan_in();
  const std::vector<batch> rows = merge_runs(rig, settings, *merger);
  for (const batch& b : rows) out.merged_rows += b.num_rows;
  out.result = add_up(s.type, s.key_type, rows);
  return out;
}

sort_settings combining(const shape& s, bool combines) {
  sort_settings settings = sort_by(s.type, {});
  for (size_t k = 0; k < s.key_type.num_columns(); ++k) settings.key.push_back({k, k % 2 == 1, 0, 0});
  settings.stable = s.stable;
  if (combines) settings.combiner = std::make_shared<adding>(s.type);
  return settings;
}

std::vector<batch> counted(const shape& s, record::batch_pool& pool, size_t num_rows, uint64_t distinct) {
  random_rows source;
  source.distinct = distinct;
  std::vector<batch> out = source.batches(s.type, pool, num_rows, 8 * 1024);
  return out;
}

class combine : public testing::TestWithParam<unsigned> {
 protected:
  record::batch_pool pool_;
};

TEST_P(combine, gives_what_adding_up_behind_the_sort_gives) {
  sort_place place;
  place.num_threads = GetParam();
  for (const shape& s : shapes()) {
    for (const uint64_t distinct : {uint64_t{1}, uint64_t{20}, uint64_t{3000}, uint64_t{0}}) {
      const std::vector<batch> input = counted(s, pool_, 20'000, distinct);
      const outcome apart = sort_and_combine(combining(s, false), s, place, input);
      const outcome together = sort_and_combine(combining(s, true), s, place, input);
      ASSERT_TRUE(together.result == apart.result) << s.name << ", " << distinct << " values";
      EXPECT_GE(together.merge_passes, 1U);
      EXPECT_LE(together.written_rows, apart.written_rows);
      EXPECT_LE(together.scratch_bytes, apart.scratch_bytes);
      if (distinct == 1) {
        EXPECT_LE(together.written_rows, 100U) << s.name;  // one of each half
      }
      if (distinct == 20) {
        EXPECT_LE(together.written_rows, apart.written_rows / 2) << s.name;
      }
    }
  }
}

TEST_P(combine, in_several_passes) {
  sort_place place;
  place.num_threads = GetParam();
  for (const shape& s : shapes()) {
    const bool narrow = combining(s, false).narrow();
    if (!narrow) place.memory_bytes = 128 * KiB;  // for the first keys of many blocks
    const std::vector<batch> input = counted(s, pool_, narrow ? 60'000 : 40'000, 700);
    const outcome apart = sort_and_combine(combining(s, false), s, place, input);
    const outcome together = sort_and_combine(combining(s, true), s, place, input);
    EXPECT_GE(together.merge_passes, 2U) << s.name;
    ASSERT_TRUE(together.result == apart.result) << s.name;
    // Runs have each key once, also those that intermediate merges made.
    EXPECT_LE(together.merged_rows, together.fan_in * together.result.size()) << s.name;
    EXPECT_LT(together.merged_rows, together.written_rows) << s.name;
  }
}

TEST_P(combine, in_memory_and_in_part) {
  for (const uint64_t memory : {200 * KiB, 4 * MiB}) {
    sort_place place = keeping_place(memory);
    place.num_threads = GetParam();
    for (const shape& s : shapes()) {
      const std::vector<batch> input = counted(s, pool_, 15'000, 90);
      const outcome apart = sort_and_combine(combining(s, false), s, place, input);
      const outcome together = sort_and_combine(combining(s, true), s, place, input);
      EXPECT_EQ(together.num_runs == 0, memory == 4 * MiB) << s.name;
      ASSERT_TRUE(together.result == apart.result) << s.name;
    }
  }
}

// The first keys of the whole result are complete, wherever a half was cut off.
TEST_P(combine, limited) {
  sort_place place;
  place.num_threads = GetParam();
  for (const shape& s : shapes()) {
    const std::vector<batch> input = counted(s, pool_, 20'000, 300);
    const totals expected = sort_and_combine(combining(s, false), s, place, input).result;
    for (const uint64_t limit : {uint64_t{1}, uint64_t{37}}) {
      sort_settings settings = combining(s, true);
      settings.limit = limit;
      const totals result = sort_and_combine(settings, s, place, input).result;
      ASSERT_GE(result.size(), limit);
      EXPECT_TRUE(std::equal(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(limit), expected.begin()))
          << s.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(threads, combine, testing::Values(0U, 3U));

// Large halves are sorted in pieces, whose keys meet in slices: also where a key goes on in the next
// one.
TEST(combine_pieces, leave_each_key_once_per_run) {
  record::batch_pool pool;
  const shape s{"12 bytes", type_of({{"k", "u32"}, {"n", "u64"}}), type_of({{"k", "u32"}})};
  std::mt19937_64 random(1);
  for (const uint32_t distinct : {3U, 50'000U, 400'000U}) {
    for (const bool sorted : {false, true}) {
      record::batch_builder builder(s.type, pool, record::rows_of_any_length(64 * 1024));
      std::vector<batch> input;
      constexpr uint32_t num_rows = 700'000;
      std::map<uint32_t, uint64_t> expected;
      for (uint32_t i = 0; i < num_rows; ++i) {
        const auto key = sorted ? static_cast<uint32_t>(uint64_t{i} * distinct / num_rows)
                                : static_cast<uint32_t>(random() % distinct);
        const uint64_t n = random() % 1000;
        std::byte* row = builder.append();
        std::memcpy(row, &key, sizeof key);
        std::memcpy(row + sizeof key, &n, sizeof n);
        expected[key] += n;
        if (builder.full()) input.push_back(builder.take());
      }
      if (!builder.empty()) input.push_back(builder.take());
      for (const uint64_t limit : {uint64_t{0}, uint64_t{10'000}}) {
        sort_place place;
        place.memory_bytes = 10 * MiB;
        place.block_bytes = 128 * KiB;
        place.num_threads = 3;
        sort_settings settings = combining(s, true);
        settings.limit = limit;
        const outcome together = sort_and_combine(settings, s, place, input);
        const size_t num_wanted = limit > 0 ? std::min<size_t>(limit, expected.size()) : expected.size();
        ASSERT_GE(together.result.size(), num_wanted);
        auto at = expected.begin();
        for (size_t i = 0; i < num_wanted; ++i, ++at) {
          uint32_t key = 0;
          std::memcpy(&key, together.result[i].first.data(), sizeof key);
          ASSERT_EQ(key, at->first) << i;
          ASSERT_EQ(together.result[i].second.n, at->second) << i;
        }
        if (!sorted) {
          EXPECT_LE(together.written_rows, together.num_runs * num_wanted);
        } else if (limit == 0) {
          EXPECT_LE(together.written_rows, num_wanted + 2 * together.num_runs);
        }
      }
    }
  }
}

TEST(combine_long_runs, bags_shrink) {
  record::batch_pool pool;
  const shape s{"16 bytes", type_of({{"k", "u64"}, {"n", "u64"}}), type_of({{"k", "u64"}})};
  sort_place place;
  place.memory_bytes = 400 * KiB;
  for (const uint64_t distinct : {uint64_t{20}, uint64_t{0}}) {
    const std::vector<batch> input = counted(s, pool, 100'000, distinct);
    sort_settings settings = combining(s, false);
    settings.long_runs = true;
    const outcome apart = sort_and_combine(settings, s, place, input);
    settings.combiner = std::make_shared<adding>(s.type);
    const outcome together = sort_and_combine(settings, s, place, input);
    ASSERT_TRUE(together.result == apart.result);
    EXPECT_GE(apart.written_rows, 100'000U);
    if (distinct > 0) {
      EXPECT_LE(together.written_rows, 50'000U);
    }
  }
}

}  // namespace
}  // namespace flowrun::sort
