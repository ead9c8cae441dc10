// Runs of twice the memory: what comes out against std::stable_sort, how long the runs are, and what stays in memory.

#include <gtest/gtest.h>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "engine/sort/run_creator_kinds.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"
#include "tests/support/sanitized.h"

namespace flowrun::sort {
namespace {

std::vector<uint64_t> random_numbers(uint64_t count, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> out(count);
  for (uint64_t& value : out) value = random();
  return out;
}

sort_settings long_by_number() {
  sort_settings settings = sort_by(type_of({{"k", "u64"}}), columns({0}));
  settings.long_runs = true;
  return settings;
}

sort_place roomy(uint64_t memory_bytes = MiB) {
  sort_place place;
  place.memory_bytes = memory_bytes;
  place.block_bytes = 16 * KiB;
  return place;
}

// M: what the rows of both halves would have.
uint64_t rows_memory(const sort_place& place) { return 2 * sort_rig(place).resources().creating.half_bytes; }

struct pattern {
  const char* name;
  std::vector<uint64_t> values;
};

std::vector<pattern> patterns(uint64_t count) {
  std::vector<pattern> out;
  auto add = [&](const char* name, auto at) {
    out.push_back({name, std::vector<uint64_t>(count)});
    for (uint64_t i = 0; i < count; ++i) out.back().values[i] = at(i);
  };
  std::mt19937_64 random(7);
  add("random", [&](uint64_t) { return random(); });
  add("few values", [&](uint64_t) { return random() % 5; });
  add("sorted", [](uint64_t i) { return i; });
  add("reversed", [&](uint64_t i) { return count - i; });
  add("nearly sorted", [&](uint64_t i) { return i + random() % 1000; });
  add("all equal", [](uint64_t) { return uint64_t{42}; });
  add("the largest there is", [](uint64_t) { return ~uint64_t{0}; });
  add("saw", [](uint64_t i) { return i % 17'001; });
  add("descending saw", [](uint64_t i) { return ~i % 30'011; });
  add("halves that alternate", [](uint64_t i) { return i % 2 == 0 ? i : ~uint64_t{0} - i; });
  // One word of each bag goes on with the run, the others wait: Q becomes many sequences of one word.
  add("one in a bag", [](uint64_t i) { return i % 512 == 0 ? ~uint64_t{0} - 1'000'000 + i : 1'000'000 - i; });
  return out;
}

TEST(long_runs, sort_every_pattern) {
  record::batch_pool pool;
  for (const auto& [name, values] : patterns(80'000)) {
    const std::vector<batch> input = numbers(pool, values);
    for (int options = 0; options < 16; options += sanitized ? 5 : 1) {
      sort_settings settings = long_by_number();
      settings.unique = (options & 1) != 0;
      settings.limit = (options & 2) != 0 ? 777 : 0;
      settings.force_spill = (options & 4) != 0;
      sort_place place;
      if ((options & 8) != 0) place = roomy(512 * KiB);
      place.kept_bytes = place.memory_bytes / 2;
      const sort_result result = expect_sorted(settings, place, input);
      if (settings.force_spill) {
        EXPECT_FALSE(result.in_memory);
      }
      ASSERT_FALSE(HasFailure()) << name << ", options " << options;
    }
  }
}

TEST(long_runs, sort_every_width) {
  record::batch_pool pool;
  random_rows source;
  for (const auto& type : {type_of({{"a", "u8"}}), type_of({{"a", "u24"}}), type_of({{"a", "f64"}}),
                           type_of({{"a", "u64"}, {"b", "bool"}}), type_of({{"a", "u64"}, {"b", "f32"}}),
                           type_of({{"a", "bytes[15]"}}), type_of({{"a", "i64"}, {"b", "u64"}})}) {
    const std::vector<batch> input = source.batches(type, pool, sanitized ? 20'000 : 60'000, 8 * 1024);
    for (const bool descending : {false, true}) {
      sort_settings settings = sort_by(type, {{type.num_columns() - 1, descending, 0, 0}});
      settings.long_runs = true;
      expect_sorted(settings, {}, input);
      sort_place place = roomy(400'000);
      place.kept_bytes = 150'000;
      place.num_threads = 3;
      place.on_disk = true;
      expect_sorted(settings, place, input);
    }
  }
}

TEST(long_runs, are_twice_the_memory_on_random_input) {
  record::batch_pool pool;
  for (const uint64_t memory : {2 * MiB, 8 * MiB}) {
    const sort_place place = roomy(memory);
    const uint64_t m = rows_memory(place);
    sort_rig rig(place);
    std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), rig.resources());
    const runs::sorted_runs made = create_runs(rig, *creator, numbers(pool, random_numbers(m / 8 * 13, memory)));
    ASSERT_GE(made.runs.size(), 6U);
    uint64_t whole_runs = 0;  // the last two end with the input
    for (size_t i = 0; i + 2 < made.runs.size(); ++i) whole_runs += made.runs[i].num_rows * 8;
    // The first run, which begins with all there is, is e - 1 times as long as what Q and Q' hold.
    EXPECT_NEAR(static_cast<double>(made.runs[0].num_rows * 8), 1.718 * static_cast<double>(m),
                0.15 * static_cast<double>(m));
    const double average = static_cast<double>(whole_runs - made.runs[0].num_rows * 8) /
                           static_cast<double>(made.runs.size() - 3) / static_cast<double>(m);

    EXPECT_GE(average, 1.8);
    EXPECT_LE(average, 2.1);
  }
}

TEST(long_runs, sorted_input_makes_one) {
  record::batch_pool pool;
  std::vector<uint64_t> values(500'000);
  std::iota(values.begin(), values.end(), 5);
  EXPECT_EQ(expect_sorted(long_by_number(), roomy(), numbers(pool, values)).num_runs, 1U);
  // Also when no row is farther from its place than half the memory.
  std::mt19937_64 random(3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i * 10 + random() % (10 * 50'000);
  EXPECT_EQ(expect_sorted(long_by_number(), roomy(), numbers(pool, values)).num_runs, 1U);
  sort_settings halves = long_by_number();
  halves.long_runs = false;
  EXPECT_GE(expect_sorted(halves, roomy(), numbers(pool, values)).num_runs, 5U);
  std::fill(values.begin(), values.end(), 9);
  EXPECT_EQ(expect_sorted(long_by_number(), roomy(), numbers(pool, values)).num_runs, 1U);
}

TEST(long_runs, reversed_input_makes_runs_of_the_memory) {
  record::batch_pool pool;
  std::vector<uint64_t> values(800'000);
  std::iota(values.rbegin(), values.rend(), 5);
  const sort_place place = roomy();
  const double m = static_cast<double>(rows_memory(place));
  const auto num_runs = static_cast<double>(expect_sorted(long_by_number(), place, numbers(pool, values)).num_runs);
  EXPECT_GE(num_runs, std::floor(800'000 * 8 / m));
  EXPECT_LE(num_runs, std::ceil(800'000 * 8 / (0.85 * m)));
}

TEST(long_runs, keep_as_much_as_they_may) {
  record::batch_pool pool;
  for (const uint64_t kept_bytes : {uint64_t{0}, 100 * KiB, 500 * KiB}) {
    for (const uint64_t num_rows : {uint64_t{10'000}, 500 * KiB / 8, uint64_t{300'000}}) {
      sort_place place = roomy();
      place.kept_bytes = kept_bytes;
      sort_rig rig(place);
      std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), rig.resources());
      const runs::sorted_runs made = create_runs(rig, *creator, numbers(pool, random_numbers(num_rows)));
      EXPECT_EQ(made.num_rows, num_rows);
      if (num_rows * 8 <= kept_bytes) {
        EXPECT_TRUE(made.runs.empty());
      }
      if (kept_bytes == 0) {
        EXPECT_TRUE(made.in_memory.empty());
        continue;
      }
      ASSERT_EQ(made.in_memory.size(), 1u);
      EXPECT_LE(made.in_memory[0]->num_rows * 8, kept_bytes);
      // A slice more may have been written.
      EXPECT_GE(made.in_memory[0]->num_rows * 8 + 16 * KiB, std::min(num_rows * 8, kept_bytes));
    }
  }
}

TEST(long_runs, do_not_depend_on_threads) {
  record::batch_pool pool;
  const std::vector<batch> input = numbers(pool, random_numbers(700'000));
  std::vector<std::vector<uint64_t>> lengths;
  for (const unsigned num_threads : {0U, 1U, 3U}) {
    sort_place place = roomy();
    place.num_threads = num_threads;
    place.on_disk = num_threads > 1;
    place.kept_bytes = 300'000;
    sort_rig rig(place);
    std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), rig.resources());
    const runs::sorted_runs made = create_runs(rig, *creator, input);
    lengths.emplace_back();
    for (const runs::run& r : made.runs) lengths.back().push_back(r.num_rows);
    for (const runs::memory_run::part& part : made.in_memory[0]->parts) lengths.back().push_back(part.num_words);
  }
  EXPECT_EQ(lengths[0], lengths[1]);
  EXPECT_EQ(lengths[0], lengths[2]);
}

TEST(long_runs, a_limit_leaves_little_to_write) {
  record::batch_pool pool;
  sort_settings settings = long_by_number();
  settings.limit = 10;
  const sort_result result = expect_sorted(settings, roomy(), numbers(pool, random_numbers(400'000)));
  EXPECT_EQ(result.rows.size(), 10U);
  EXPECT_LE(result.scratch_bytes, result.num_runs * 16 * KiB);
  EXPECT_LE(result.num_runs, 3U);  // what is above the tenth of a run is dropped as it comes
}

TEST(long_runs, memory_is_what_the_halves_have) {
  sort_rig rig({});
  sort_resources r = rig.resources();
  for (const uint32_t block : {4096U, 65536U, 1U << 20}) {
    for (uint64_t memory = sizes::least_sort_memory(block); memory <= 64 * GiB; memory = memory * 3 + 1) {
      rig.divide(r, memory, block);
      const uint64_t m = 2 * r.creating.half_bytes;
      const long_run_memory parts = divide_long_run_memory(r.creating);
      const uint64_t stored = parts.num_blocks * parts.block_bytes;
      EXPECT_LE(2 * parts.bag_bytes + parts.slice_bytes + stored, m);
      EXPECT_GE(stored, m * (memory < MiB ? 80 : 94) / 100) << memory;
      EXPECT_GE(parts.num_blocks, parts.bag_bytes / parts.block_bytes + 2);
    }
  }
}

TEST(long_runs, given_up_halfway) {
  record::batch_pool pool;
  const std::vector<batch> input = numbers(pool, random_numbers(200'000));
  for (const unsigned num_threads : {0U, 2U}) {
    for (const size_t num_batches : {size_t{1}, input.size() / 2, input.size()}) {
      sort_place place;
      place.num_threads = num_threads;
      place.on_disk = num_threads > 0;
      sort_rig rig(place);
      task_queue::sleeper sleeper(rig.queue());
      std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), rig.resources());
      for (size_t i = 0; i < num_batches; ++i) {
        prepared_rows prepared = creator->prepare(input[i]);
        while (creator->push(prepared, sleeper).is_blocked()) sleeper.wait();
      }
      if (num_batches == input.size()) (void)creator->finish(sleeper);  // given up: the answer is not used
      if (num_threads == 0) rig.queue().drain();
      creator.reset();
      EXPECT_EQ(rig.blocks().used_bytes(), 0U);
    }
  }
}

TEST(long_runs, errors_reach_the_caller) {
  record::batch_pool pool;
  const std::vector<batch> input = numbers(pool, random_numbers(200'000));
  for (const unsigned num_threads : {0U, 2U}) {
    sort_place place;
    place.num_threads = num_threads;
    using effect = io::injected_fault::effect;
    sort_rig rig(place, std::make_unique<io::faulty_backend>(
                            num_threads > 0 ? io::make_thread_backend(8) : io::make_memory_backend(),
                            std::vector<io::injected_fault>{{io::direction::write, 40, 1'000'000, effect::fail, EIO}}));
    std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), rig.resources());
    EXPECT_EQ(error_of([&] { create_runs(rig, *creator, input); }).kind(), error_kind::io);
  }
  sort_rig rig({});
  sort_resources r = rig.resources();
  std::atomic<int> asked{0};
  r.cancelled = [&] { return ++asked > 10; };
  std::unique_ptr<run_creator> creator = make_run_creator(long_by_number(), r);
  EXPECT_EQ(error_of([&] { create_runs(rig, *creator, input); }).kind(), error_kind::cancelled);
  EXPECT_EQ(asked, 11);
}

}  // namespace
}  // namespace flowrun::sort
