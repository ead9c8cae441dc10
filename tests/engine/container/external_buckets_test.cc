// Rows by bucket, in each in the order they came; in memory or on scratch, with errors that are heard.
#include "engine/container/external_buckets.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <random>

#include "engine/io/backends.h"
#include "engine/io/faulty_backend.h"
#include "tests/engine/container/row_kinds.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch_rig.h"
#include "tests/support/wakers.h"

namespace flowrun::container {
namespace {

using rows = std::vector<std::string>;

void fill(external_buckets& buckets, const std::vector<batch>& input, const std::vector<uint32_t>& numbers) {
  blocking_waker w;
  size_t next = 0;
  for (const batch& b : input)
    for (size_t i = 0; i < b.num_rows; ++i, ++next)
      while (buckets.push(numbers[next], b.row(i), b.heap, w).is_blocked()) w.wait();
  while (buckets.finish(w).is_blocked()) w.wait();
}

rows read_all(std::shared_ptr<const stored_rows> stored) {
  const row_type type = stored->type;
  stored_reader reader(std::move(stored), 0);
  rows out;
  blocking_waker w;
  const batch* front = nullptr;
  for (outcome s; !(s = reader.front(front, w)).is_done();) {
    if (s.is_blocked()) {
      w.wait();
      continue;
    }
    for (size_t i = 0; i < front->num_rows; ++i) out.push_back(record::content_of(type, front->row(i), front->heap));
    reader.pop();
  }
  return out;
}

// A bucket for each row: all alike, or most in a few.
std::vector<uint32_t> random_numbers(size_t num_rows, uint32_t num_buckets, bool skewed, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> out(num_rows);
  for (uint32_t& n : out) {
    n = static_cast<uint32_t>(random() % num_buckets);
    if (skewed && random() % 8 > 0) n %= 3;
  }
  return out;
}

TEST(external_buckets, keep_the_order_in_each_bucket) {
  for (const bool on_disk : {false, true}) {
    for (const row_kind& kind : row_kinds()) {
      for (const uint32_t num_buckets : {1U, 7U, 300U}) {
        for (const uint64_t memory : {0 * KiB, 300 * KiB, 64 * MiB}) {
          SCOPED_TRACE(testing::Message()
                       << to_string(kind.type) << ", " << num_buckets << " buckets, memory " << memory);
          scratch_rig rig({.on_disk = on_disk});
          const std::vector<batch> input = some_rows(rig.pool(), kind, 400'000, memory + num_buckets);
          const rows contents = record::contents_of(kind.type, input);
          const std::vector<uint32_t> numbers =
              random_numbers(contents.size(), num_buckets, memory == 300 * KiB, num_buckets);
          std::vector<rows> by_bucket(num_buckets);
          for (size_t i = 0; i < contents.size(); ++i) by_bucket[numbers[i]].push_back(contents[i]);
          rows expected;
          for (const rows& some : by_bucket) expected.insert(expected.end(), some.begin(), some.end());
          external_buckets buckets(kind.type, rig.blocks(), rig.pool(),
                                   {.num_buckets = num_buckets, .memory_bytes = memory});
          fill(buckets, input, numbers);
          EXPECT_EQ(buckets.rows()->num_rows, contents.size());
          EXPECT_EQ(buckets.spilled_bytes() == 0, memory == 64 * MiB);
          ASSERT_EQ(read_all(buckets.rows()), expected);
        }
      }
    }
  }
}

TEST(external_buckets, few_rows_in_many_buckets_stay_in_memory) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig;
  external_buckets buckets(type, rig.blocks(), rig.pool(), {.num_buckets = 1000, .memory_bytes = 12 * MiB});
  const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 80'000, 1);
  fill(buckets, input, random_numbers(record::contents_of(type, input).size(), 1000, false, 2));
  EXPECT_EQ(buckets.spilled_bytes(), 0U);
  EXPECT_EQ(rig.blocks().peak_used_bytes(), 0U);
}

TEST(external_buckets, nothing_in_nothing_out) {
  const row_type type = record::type_of({{"s", "string"}});
  scratch_rig rig;
  external_buckets buckets(type, rig.blocks(), rig.pool(), {.num_buckets = 5});
  fill(buckets, {}, {});
  EXPECT_EQ(read_all(buckets.rows()), rows());
}

TEST(external_buckets, may_be_destroyed_in_any_state) {
  std::mt19937_64 random(4);
  const row_type type = record::type_of({{"k", "u64"}, {"v", "u64"}});
  for (int round = 0; round < 100; ++round) {
    scratch_rig rig({.on_disk = round % 2 == 0});
    const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 80'000, 1);
    counting_waker w;
    {
      external_buckets buckets(type, rig.blocks(), rig.pool(), {.num_buckets = 1 + static_cast<uint32_t>(round)});
      uint64_t left = random() % 4000;
      for (const batch& b : input)
        for (size_t i = 0; i < b.num_rows && left > 0; ++i, --left)
          (void)buckets.push(static_cast<uint32_t>(random() % (1 + static_cast<uint64_t>(round))), b.row(i), b.heap, w);
      if (round % 3 == 0) (void)buckets.finish(w);
    }
    EXPECT_EQ(rig.blocks().used_bytes(), 0U);
  }
}

TEST(external_buckets, full_scratch_is_reported) {
  const row_type type = record::type_of({{"k", "u64"}});
  scratch_rig rig({.limit = 128 * KiB});
  const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 800'000, 1);
  const auto numbers = random_numbers(record::contents_of(type, input).size(), 4, false, 1);
  external_buckets buckets(type, rig.blocks(), rig.pool(), {.num_buckets = 4});
  EXPECT_EQ(error_of([&] { fill(buckets, input, numbers); }).kind(), error_kind::resources);
}

TEST(external_buckets, failing_disks_are_reported) {
  const row_type type = record::type_of({{"k", "u64"}});
  for (const io::direction way : {io::direction::read, io::direction::write}) {
    const uint64_t hit = way == io::direction::write ? UINT64_MAX : 1;
    const std::vector<io::injected_fault> faults{{way, 7, hit, io::injected_fault::effect::fail, EIO}};
    scratch_rig rig({}, std::make_unique<io::faulty_backend>(io::make_memory_backend(), faults));
    const std::vector<batch> input = some_rows(rig.pool(), {type, 0}, 800'000, 1);
    const auto numbers = random_numbers(record::contents_of(type, input).size(), 4, false, 1);
    external_buckets buckets(type, rig.blocks(), rig.pool(), {.num_buckets = 4});
    EXPECT_EQ(error_of([&] {
                fill(buckets, input, numbers);
                read_all(buckets.rows());
              }).kind(),
              error_kind::io);
  }
}

}  // namespace
}  // namespace flowrun::container
