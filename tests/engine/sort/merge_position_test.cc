// A merge that begins where another one was gives what that one would have given: at every position that it tells, for
// every kind of merger.
#include <gtest/gtest.h>

#include "tests/engine/sort/sort_rig.h"
#include "tests/engine/sort/stable_order.h"

namespace flowrun::sort {
namespace {

struct merge_case {
  const char* name;
  record::row_type type;
  record::key key;
  bool stable = false;
  runs::compression compress = runs::compression::none;
  size_t batch_bytes = 8 * 1024;
  uint64_t memory_bytes = sizes::least_sort_memory(4096) * 2;
  size_t num_bytes = 400'000;
  uint64_t distinct = 0;
};

std::vector<merge_case> cases() {
  return {
      {"words", type_of({{"a", "u64"}}), columns({0})},
      {"words_that_repeat", type_of({{"a", "u32"}}), columns({0}), false, runs::compression::none, 8 * 1024,
       sizes::least_sort_memory(4096) * 2, 300'000, 50},
      {"two_words", type_of({{"a", "u64"}, {"b", "i64"}}), columns({1})},
      {"packed_words", type_of({{"a", "u64"}, {"b", "u24"}}), columns({1})},
      {"differences", type_of({{"a", "u64"}}), columns({0}), false, runs::compression::delta},
      {"rows", type_of({{"k", "u32"}, {"v", "bytes[40]"}}), columns({0})},
      {"stable_rows_that_tie", type_of({{"k", "u32"}, {"v", "u32"}}), columns({0}), true, runs::compression::none,
       8 * 1024, sizes::least_sort_memory(4096) * 2, 300'000, 7},
      {"compressed_rows", type_of({{"k", "u32"}, {"v", "bytes[40]"}}), columns({0}), false, runs::compression::lz4},
      {"strings", type_of({{"line", "string"}}), columns({0})},
      {"long_rows_one_by_one", type_of({{"k", "u32"}, {"v", "bytes[1500]"}}), columns({0})},
      {"long_keys_one_by_one", type_of({{"k", "bytes[900]"}}), columns({0})},
  };
}

class merge_position : public testing::TestWithParam<size_t> {
 protected:
  const merge_case one_ = cases()[GetParam()];

  sort_place place() const {
    sort_place out;
    out.memory_bytes = one_.memory_bytes;
    out.batch_bytes = one_.batch_bytes;
    out.coding = {one_.compress, one_.type.row_bytes()};
    return out;
  }
  sort_settings settings() const {
    sort_settings out = sort_by(one_.type, one_.key);
    out.stable = one_.stable;
    out.force_spill = true;
    return out;
  }
  // The same runs each time, on streams of their own.
  runs::sorted_runs runs_of(sort_rig& rig, const std::vector<batch>& input) const {
    std::unique_ptr<run_creator> creator = make_run_creator(settings(), rig.resources());
    return create_runs(rig, *creator, input);
  }
};

struct stop {
  runs::merge_position position;
  size_t num_rows;  // before it
};

TEST_P(merge_position, is_gone_on_from) {
  const sort_settings settings = this->settings();
  record::batch_pool pool;
  random_rows source;
  source.distinct = one_.distinct;
  const std::vector<batch> input = source.batches(one_.type, pool, one_.num_bytes / one_.type.row_bytes());
  const std::vector<std::string> expected = expected_rows(settings, input);

  std::vector<stop> stops;
  {
    sort_rig rig(place());
    const std::unique_ptr<run_merger> merger =
        make_run_merger(settings, rig.resources(), runs_of(rig, input), one_.batch_bytes);
    task_queue::sleeper sleeper(rig.queue());
    size_t num_rows = 0;
    for (;;) {
      std::vector<merge_part> parts;
      if (runs::merge_position at = merger->position(); !at.empty()) stops.push_back({std::move(at), num_rows});
      const outcome o = merger->pull(parts, sleeper);
      for (const merge_part& part : parts) num_rows += size_of(part).num_rows;
      if (o.is_done()) break;
      if (o.is_blocked()) sleeper.wait();
    }
    ASSERT_EQ(num_rows, expected.size());
  }
  ASSERT_GT(stops.size(), 5U);

  for (size_t i = 0; i < stops.size(); i += 1 + stops.size() / 12) {
    sort_rig rig(place());
    runs::sorted_runs runs = runs_of(rig, input);
    ASSERT_GT(runs.runs.size(), 1U);
    runs::merge_position here = stops[i].position;
    ASSERT_EQ(here.size(), runs.runs.size());
    for (size_t r = 0; r < here.size(); ++r) here[r].stream = runs.runs[r].stream;
    ASSERT_TRUE(runs.begin_at(here));
    const std::unique_ptr<run_merger> merger =
        make_run_merger(settings, rig.resources(), std::move(runs), one_.batch_bytes);
    const std::vector<std::string> rest = record::contents_of(one_.type, merge_runs(rig, settings, *merger));
    ASSERT_EQ(rest.size(), expected.size() - stops[i].num_rows);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + static_cast<std::ptrdiff_t>(stops[i].num_rows)))
        << "from row " << stops[i].num_rows << " on";
    EXPECT_EQ(rig.blocks().used_bytes(), 0U);
  }
}

TEST_P(merge_position, of_other_runs_is_refused) {
  sort_rig rig(place());
  record::batch_pool pool;
  random_rows source;
  runs::sorted_runs runs = runs_of(rig, source.batches(one_.type, pool, one_.num_bytes / one_.type.row_bytes()));
  runs::merge_position at;
  for (const runs::run& r : runs.runs) at.push_back({r.stream, 0});
  runs::merge_position other = at;
  other.front().stream += 1'000'000;
  EXPECT_FALSE(runs.begin_at(other));
  other = at;
  other.pop_back();
  EXPECT_FALSE(runs.begin_at(other));
  other = at;
  other.back().num_rows = runs.runs.back().num_rows + 1;
  EXPECT_FALSE(runs.begin_at(other));
}

std::string label(const testing::TestParamInfo<size_t>& info) { return cases()[info.param].name; }
INSTANTIATE_TEST_SUITE_P(, merge_position, testing::Range<size_t>(0, cases().size()), label);

}  // namespace
}  // namespace flowrun::sort
