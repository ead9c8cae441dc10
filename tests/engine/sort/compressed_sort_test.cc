// Whole sorts with compressed runs, against std::stable_sort: row shapes, codecs, options, memory, threads, disks.
#include <gtest/gtest.h>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

namespace flowrun::sort {
namespace {

constexpr uint32_t block_bytes = 16 * 1024;

struct shape {
  const char* name;
  record::row_type type;
  record::key key;
};

std::vector<shape> shapes() {
  return {
      {"u24", type_of({{"a", "u24"}}), {{0, true, 0, 0}}},
      {"f64", type_of({{"a", "f64"}}), columns({0})},
      {"12 bytes", type_of({{"a", "u64"}, {"b", "f32"}}), columns({0})},
      {"16 bytes", type_of({{"a", "u64"}, {"b", "i64"}}), {{1, true, 0, 0}, {0, false, 0, 0}}},
      {"100 bytes", type_of({{"k", "bytes[40]"}, {"v", "bytes[60]"}}), columns({0})},
      {"lines", type_of({{"line", "string"}}), columns({0})},
      {"people",
       type_of({{"id", "u32"}, {"name", "string"}, {"note", "string"}, {"born", "i16"}}),
       {{2, true, 0, 0}, {1, false, 0, 0}}},
  };
}

// Of each shape and of each codec that fits it.
struct compressed_shape {
  shape rows;
  runs::compression how;
};

std::vector<compressed_shape> compressed_shapes() {
  std::vector<compressed_shape> out;
  for (const shape& s : shapes()) {
    for (const runs::compression how : {runs::compression::delta, runs::compression::lz4, runs::compression::zstd})
      if (how != runs::compression::delta || sort_by(s.type, s.key).narrow()) out.push_back({s, how});
  }
  return out;
}

std::vector<size_t> shapes_of_words() {
  const std::vector<compressed_shape> all = compressed_shapes();
  std::vector<size_t> out;
  for (size_t i = 0; i < all.size(); ++i)
    if (sort_by(all[i].rows.type, all[i].rows.key).narrow()) out.push_back(i);
  return out;
}

std::string label(const testing::TestParamInfo<size_t>& info) {
  const compressed_shape one = compressed_shapes()[info.param];
  static const char* const names[] = {"none", "delta", "lz4", "zstd"};
  std::string out = std::string(one.rows.name) + " " + names[static_cast<size_t>(one.how)];
  std::replace(out.begin(), out.end(), ' ', '_');
  return out;
}

class each_codec : public testing::TestWithParam<size_t> {
 protected:
  const compressed_shape one_ = compressed_shapes()[GetParam()];
  const record::row_type& type_ = one_.rows.type;
  record::batch_pool pool_;
  random_rows source_;

  sort_settings settings() const { return sort_by(type_, one_.rows.key); }
  sort_place place(uint64_t memory_bytes = sizes::least_sort_memory(block_bytes)) const {
    sort_place out;
    out.block_bytes = block_bytes;
    out.memory_bytes = memory_bytes;
    out.coding = {one_.how, type_.row_bytes()};
    return out;
  }
  std::vector<batch> input(size_t num_bytes, uint64_t distinct) {
    source_.distinct = distinct;
    const size_t row_bytes = std::max(type_.row_bytes() + (type_.has_strings() ? 12U : 0U), 8U);
    return source_.batches(type_, pool_, num_bytes / row_bytes, 8 * 1024);
  }
};

TEST_P(each_codec, spilled_and_merged_at_several_levels_in_the_least_memory) {
  for (const uint64_t distinct : {uint64_t{0}, uint64_t{11}}) {
    const std::vector<batch> rows = input(distinct == 0 ? 2'600'000 : 800'000, distinct);
    const sort_result result = expect_sorted(settings(), place(), rows);
    if (distinct == 0 && type_.row_bytes() > 3) {
      EXPECT_GT(result.num_runs, 12U);
      EXPECT_GE(result.merge_passes, 2U);
    }
    sort_place uncompressed = place();
    uncompressed.coding = {};
    if (distinct == 11) {
      EXPECT_LT(result.scratch_bytes, sort_rows(settings(), uncompressed, rows).scratch_bytes);
    }
  }
}

TEST_P(each_codec, unique_and_limited_and_stable) {
  const std::vector<batch> rows = input(400'000, 700);
  for (int options = 1; options < 8; ++options) {
    sort_settings s = settings();
    s.unique = (options & 1) != 0;
    s.limit = (options & 2) != 0 ? 777 : 0;
    s.stable = (options & 4) != 0;
    if (one_.how == runs::compression::delta && !s.narrow()) continue;
    expect_sorted(s, place(), rows);
    ASSERT_FALSE(HasFailure()) << "options " << options;
  }
}

TEST_P(each_codec, the_last_run_may_stay_in_memory) {
  sort_place some = place(600'000);
  some.kept_bytes = some.memory_bytes;
  const sort_result result = expect_sorted(settings(), some, input(700'000, 0));
  EXPECT_TRUE(result.in_memory);
}

// Only of rows that are sorted whole.
class each_codec_of_words : public each_codec {};

TEST_P(each_codec_of_words, long_runs) {
  sort_settings s = settings();
  s.long_runs = true;
  expect_sorted(s, place(), input(1'500'000, 0));
}

TEST_P(each_codec, with_threads_on_disks) {
  sort_place disks = place(800'000);
  disks.num_threads = 3;
  disks.on_disk = true;
  disks.num_disks = 3;
  disks.block_bytes = 32 * 1024;
  for (const uint64_t distinct : {uint64_t{0}, uint64_t{5}})
    expect_sorted(settings(), disks, input(1'200'000, distinct));
}

TEST_P(each_codec, forced_to_spill_a_few_rows) {
  sort_settings s = settings();
  s.force_spill = true;
  for (size_t num_rows = 0; num_rows < 4; ++num_rows) {
    random_rows source;
    const sort_result result = expect_sorted(s, place(), source.batches(type_, pool_, num_rows, 8 * 1024));
    EXPECT_EQ(result.num_runs, num_rows == 0 ? 0U : 1U);
    EXPECT_LE(result.scratch_bytes, num_rows == 0 ? 0U : io_alignment);  // one page
  }
}

TEST_P(each_codec, a_flipped_bit_is_noticed) {
  const std::vector<batch> rows = input(500'000, 100);
  for (const uint64_t nth : {uint64_t{1}, uint64_t{10}}) {
    for (const io::direction way : {io::direction::read, io::direction::write}) {
      std::vector<io::injected_fault> faults = {{way, nth, 1, io::injected_fault::effect::flip_bit, 8 * 2000 + 3}};
      sort_rig rig(place(), std::make_unique<io::faulty_backend>(io::make_memory_backend(), std::move(faults)));
      const error e = error_of([&] {
        std::unique_ptr<run_creator> creator = make_run_creator(settings(), rig.resources());
        runs::sorted_runs runs = create_runs(rig, *creator, rows);
        merge_runs(rig, settings(), *make_run_merger(settings(), rig.resources(), std::move(runs), 8192));
      });
      EXPECT_EQ(e.kind(), error_kind::io);
      EXPECT_NE(std::string(e.what()).find("damaged"), std::string::npos) << e.what();
    }
  }
}

TEST_P(each_codec, given_up_halfway) {
  const std::vector<batch> rows = input(500'000, 100);
  for (const int num_pulls : {0, 1, 5}) {
    sort_rig rig(place());
    task_queue::sleeper sleeper(rig.queue());
    std::unique_ptr<run_creator> creator = make_run_creator(settings(), rig.resources());
    runs::sorted_runs runs = create_runs(rig, *creator, rows);
    creator.reset();
    std::unique_ptr<run_merger> merger = make_run_merger(settings(), rig.resources(), std::move(runs), 8192);
    std::vector<merge_part> raw;
    for (int i = 0; i < num_pulls; ++i)
      if (merger->pull(raw, sleeper).is_blocked()) sleeper.wait();
  }  // sort_rig: all blocks are free
}

INSTANTIATE_TEST_SUITE_P(shapes, each_codec, testing::Range<size_t>(0, compressed_shapes().size()), label);
INSTANTIATE_TEST_SUITE_P(shapes, each_codec_of_words, testing::ValuesIn(shapes_of_words()), label);

TEST(compressed_sort, delta_is_for_rows_that_are_sorted_whole) {
  sort_place place;
  place.coding = {runs::compression::delta, 32};
  sort_rig rig(place);
  const record::row_type wide = type_of({{"k", "u64"}, {"v", "bytes[24]"}});
  EXPECT_THROW(make_run_creator(sort_by(wide, columns({0})), rig.resources()), error);
}

// The planner counts on it.
TEST(compressed_sort, fan_in_is_that_of_uncompressed_runs) {
  record::batch_pool pool;
  std::mt19937_64 random(1);
  std::vector<uint64_t> values(300'000);
  for (uint64_t& v : values) v = random() >> 34;
  const record::row_type type = type_of({{"k", "u64"}});
  const std::vector<batch> rows = numbers(pool, values);
  sort_place place;
  place.block_bytes = block_bytes;
  place.memory_bytes = sizes::least_sort_memory(block_bytes);
  const sort_result plain = sort_rows(sort_by(type, columns({0})), place, rows);
  place.coding = {runs::compression::delta, 8};
  const sort_result compressed = sort_rows(sort_by(type, columns({0})), place, rows);
  EXPECT_EQ(plain.fan_in, compressed.fan_in);
  EXPECT_LT(compressed.peak_scratch_bytes, plain.peak_scratch_bytes * 6 / 10);
}

}  // namespace
}  // namespace flowrun::sort
