// What is lost, added, changed or out of order between the two ends of a sort is found, whatever the rows and wherever
// they went.
#include "engine/sort/conservation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/error.h"
#include "tests/engine/sort/sort_rig.h"
#include "tests/support/error_of.h"

namespace flowrun::sort {
namespace {

using testing::HasSubstr;

struct shape {
  const char* name;
  sort_settings settings;
};

std::vector<shape> shapes() {
  std::vector<shape> out;
  out.push_back({"words", sort_by(type_of({{"k", "u64"}}), columns({0}))});
  out.push_back({"short", sort_by(type_of({{"k", "i32"}}), columns({0}))});
  out.push_back({"pairs", sort_by(type_of({{"a", "u32"}, {"k", "f64"}}), columns({1}))});
  out.push_back({"long runs", out.front().settings});
  out.back().settings.long_runs = true;
  out.push_back({"stable", sort_by(type_of({{"a", "u32"}, {"k", "u16"}}), columns({1}))});
  out.back().settings.stable = true;
  out.push_back({"records", sort_by(type_of({{"k", "bytes[10]"}, {"v", "bytes[90]"}}), columns({0}))});
  out.push_back({"long key", sort_by(type_of({{"v", "u8"}, {"k", "bytes[40]"}}), columns({1, 0}))});
  out.push_back({"text", sort_by(type_of({{"n", "u32"}, {"k", "string"}, {"v", "string"}}), columns({1}))});
  out.push_back({"text aside", sort_by(type_of({{"v", "string"}, {"k", "u32"}}), columns({1}))});
  return out;
}

struct named_place {
  const char* name;
  sort_place place;
};
std::vector<named_place> places() {
  sort_place threads;
  threads.num_threads = 3;
  return {{"spilled", {}}, {"in memory", keeping_place(8 * MiB)}, {"threads", threads}};
}

// What is done to the rows between the ends; each may be empty.
struct tampering {
  std::function<void(std::vector<batch>&)> input = {};                       // behind the tally of what is taken
  std::function<void(runs::sorted_runs&, block::block_manager&)> runs = {};  // between creator and merger
  bool exchange = false;                                                     // two rows, behind the merger
};

// A batch of copies that the test may change; only for rows without strings, or where strings stay.
batch copy_of(const batch& b) {
  std::shared_ptr<std::byte[]> rows(new std::byte[b.num_rows * b.row_bytes]);
  std::memcpy(rows.get(), b.rows, b.num_rows * b.row_bytes);
  batch out = b;
  out.rows = rows.get();
  out.owner = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<std::byte[]>>>(b.owner, rows);
  return out;
}
std::byte* changeable(const batch& b, size_t row) { return const_cast<std::byte*>(b.row(row)); }

// The first and the last row of the part's first batch; false where their keys are equal.
bool exchange_rows(const sort_settings& settings, std::vector<batch>& rows) {
  if (rows.empty()) return false;
  batch& b = rows.front();
  const row_order_check order(settings);
  if (order.may_follow(order.key_of(b, b.num_rows - 1), order.key_of(b, 0))) return false;
  b = copy_of(b);
  const std::vector<std::byte> first(b.row(0), b.row(1));
  std::memcpy(changeable(b, 0), b.row(b.num_rows - 1), b.row_bytes);
  std::memcpy(changeable(b, b.num_rows - 1), first.data(), b.row_bytes);
  return true;
}

conservation_result sort_with(const sort_settings& settings, const sort_place& place, std::vector<batch> input,
                              const tampering& fault = {}) {
  sort_rig rig(place);
  std::unique_ptr<run_creator> creator = make_run_creator(settings, rig.resources());
  const record::row_tallier tallier(settings.type);
  record::row_tally taken;
  for (const batch& b : input) taken += tallier.tally(b);
  if (fault.input) fault.input(input);
  runs::sorted_runs made = create_runs(rig, *creator, input);
  creator.reset();
  made.taken = taken;
  if (fault.runs) fault.runs(made, rig.blocks());
  conservation_result found;
  outflow_check check(settings, made.taken, "by_key", [&](const conservation_result& r) { found = r; });
  const std::unique_ptr<run_merger> merger = make_run_merger(settings, rig.resources(), std::move(made), 8192);
  task_queue::sleeper sleeper(rig.queue());
  bool exchange = fault.exchange;
  std::vector<std::pair<uint64_t, std::pair<size_t, std::vector<batch>>>> waiting;  // refined, not yet looked at
  const auto look = [&] {
    std::reverse(waiting.begin(), waiting.end());  // threads end in any order
    for (auto& [at, part] : waiting) check.add(at, part.first, part.second);
    waiting.clear();
  };
  for (;;) {
    std::vector<merge_part> parts;
    const outcome o = merger->pull(parts, sleeper);
    for (const merge_part& part : parts) {
      std::vector<batch> rows;
      merger->refine(part, rows);
      if (exchange && exchange_rows(settings, rows)) exchange = false;
      const size_t num_rows = size_of(part).num_rows;
      waiting.push_back({check.place(num_rows), {num_rows, std::move(rows)}});
    }
    if (waiting.size() >= 3) look();
    if (o.is_done()) break;
    if (o.is_blocked()) sleeper.wait();
  }
  check.end();
  look();
  return found;
}

class conservation_test : public testing::Test {
 protected:
  void each(const std::function<void(const sort_settings&, const sort_place&, const std::vector<batch>&)>& look) {
    for (const shape& s : shapes())
      for (const named_place& p : places()) {
        SCOPED_TRACE(testing::Message() << s.name << ", " << p.name);
        if (s.settings.long_runs && p.place.num_threads > 0) continue;
        random_rows source;
        source.distinct = 1000;
        look(s.settings, p.place, source.batches(s.settings.type, pool_, num_rows, 8 * 1024));
      }
  }
  void expect_found(const tampering& fault, const char* message) {
    each([&](const sort_settings& settings, const sort_place& place, const std::vector<batch>& input) {
      const error found = error_of([&] { sort_with(settings, place, input, fault); });
      EXPECT_EQ(found.kind(), error_kind::internal);
      EXPECT_THAT(found.what(), HasSubstr("node 'by_key': the sort's result is wrong"));
      EXPECT_THAT(found.what(), HasSubstr(message));
    });
  }

  static constexpr size_t num_rows = 12'000;
  record::batch_pool pool_;
};

TEST_F(conservation_test, right_results_pass) {
  each([&](const sort_settings& settings, const sort_place& place, const std::vector<batch>& input) {
    const conservation_result found = sort_with(settings, place, input);
    EXPECT_EQ(found.level, conservation::everything);
    EXPECT_EQ(found.rows_in, num_rows);
    EXPECT_EQ(found.rows_out, num_rows);
  });
}

// Where the key isn't at the row's start, its copy has other places than the row.
TEST_F(conservation_test, ends_of_parts_compare_by_their_keys) {
  for (const shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    const row_order_check order(s.settings);
    const record::row_comparator rows(s.settings.type, s.settings.key);
    random_rows source;
    source.distinct = 100;
    for (const batch& b : source.batches(s.settings.type, pool_, 500, 8 * 1024)) {
      for (size_t i = 1; i < b.num_rows; ++i) {
        const bool may = rows.compare(b.row(i - 1), b.heap, b.row(i), b.heap) <= 0;
        ASSERT_EQ(order.may_follow(order.key_of(b, i - 1), order.key_of(b, i)), may) << "row " << i;
      }
    }
  }
}

TEST_F(conservation_test, no_rows_are_right_too) {
  const sort_settings settings = shapes().front().settings;
  EXPECT_EQ(sort_with(settings, {}, {}).level, conservation::everything);
}

TEST_F(conservation_test, a_lost_row_is_found) {
  expect_found({.input = [](std::vector<batch>& in) { in[1] = in[1].slice(1, in[1].num_rows - 1); }},
               "it took 12,000 rows and gave 11,999");
}

TEST_F(conservation_test, an_added_row_is_found) {
  expect_found({.input = [](std::vector<batch>& in) { in.push_back(in[0].slice(0, 1)); }},
               "it took 12,000 rows and gave 12,001");
}

// Another row of the input stands in for it, so that any kind of row stays a right one.
TEST_F(conservation_test, a_changed_row_is_found) {
  expect_found({.input =
                    [](std::vector<batch>& in) {
                      in[0] = copy_of(in[0]);
                      size_t other = 1;
                      while (std::memcmp(in[0].row(0), in[0].row(other), in[0].row_bytes) == 0) ++other;
                      std::memcpy(changeable(in[0], 0), in[0].row(other), in[0].row_bytes);
                    }},
               "as many rows as it took, 12,000, but not the same ones");
}

TEST_F(conservation_test, a_wrong_order_is_found) {
  expect_found({.exchange = true}, "is smaller than the row before");
}

// Within batches all is well: only their ends show it.
TEST_F(conservation_test, parts_in_the_wrong_order_are_found) {
  for (const shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    random_rows source;
    std::vector<batch> low = source.batches(s.settings.type, pool_, 100);
    outflow_check check(s.settings, std::nullopt, "by_key", {});
    const row_order_check order(s.settings);
    size_t other = 1;
    while (order.may_follow(order.key_of(low[0], 0), order.key_of(low[0], other))) ++other;
    const uint64_t first = check.place(1);
    const uint64_t second = check.place(1);
    const batch larger = low[0].slice(0, 1);
    const batch smaller = low[0].slice(other, 1);
    check.add(second, 1, {&smaller, 1});
    EXPECT_THAT(error_of([&] {
                  check.add(first, 1, {&larger, 1});
                }).what(),
                HasSubstr("row 1 (from 0) is smaller than the row before"));
  }
}

TEST_F(conservation_test, a_lost_block_of_a_run_is_found) {
  const tampering fault{.runs = [](runs::sorted_runs& made, block::block_manager& blocks) {
    runs::run& longest =
        *std::max_element(made.runs.begin(), made.runs.end(),
                          [](const runs::run& a, const runs::run& b) { return a.blocks.size() < b.blocks.size(); });
    ASSERT_GT(longest.blocks.size(), 1U);
    longest.num_rows -= longest.blocks.back().num_rows;
    blocks.free(longest.blocks.back().id);
    longest.blocks.shorten(longest.blocks.size() - 1);
  }};
  for (const shape& s : shapes()) {
    SCOPED_TRACE(s.name);
    random_rows source;
    const std::vector<batch> input = source.batches(s.settings.type, pool_, num_rows, 8 * 1024);
    EXPECT_THAT(error_of([&] { sort_with(s.settings, {}, input, fault); }).what(), HasSubstr("it took 12,000 rows"));
  }
}

TEST_F(conservation_test, rows_that_stayed_in_memory_are_found_doubled_changed_and_exchanged) {
  const sort_settings settings = shapes().front().settings;
  random_rows source;
  const std::vector<batch> input = source.batches(settings.type, pool_, num_rows, 8 * 1024);
  const auto words_of = [](runs::sorted_runs& made) {
    return reinterpret_cast<uint64_t*>(const_cast<std::byte*>(made.in_memory.front()->rows.data()));
  };
  const auto failure = [&](const std::function<void(runs::sorted_runs&, block::block_manager&)>& fault) {
    return std::string(error_of([&] { sort_with(settings, keeping_place(8 * MiB), input, {.runs = fault}); }).what());
  };
  EXPECT_THAT(failure([](runs::sorted_runs& made, block::block_manager&) { made.keep(made.in_memory.front()); }),
              HasSubstr("gave 24,000"));
  EXPECT_THAT(failure([&](runs::sorted_runs& made, block::block_manager&) { words_of(made)[num_rows - 1] += 1; }),
              HasSubstr("not the same ones"));
  EXPECT_THAT(failure([&](runs::sorted_runs& made, block::block_manager&) {
                std::swap(words_of(made)[5000], words_of(made)[9000]);
              }),
              HasSubstr("is smaller than the row before"));
}

TEST_F(conservation_test, what_drops_rows_is_held_to_bounds) {
  random_rows source;
  source.distinct = 50;
  for (const char* type : {"u64", "string"}) {
    SCOPED_TRACE(type);
    sort_settings settings = sort_by(type_of({{"k", type}}), columns({0}));
    const std::vector<batch> input = source.batches(settings.type, pool_, 3000, 8 * 1024);
    settings.unique = true;
    const conservation_result unique = sort_with(settings, {}, input);
    EXPECT_EQ(unique.level, conservation::order_and_bounds);
    EXPECT_EQ(unique.rows_in, 3000U);
    EXPECT_LT(unique.rows_out, 3000U);
    settings.unique = false;
    settings.limit = 100;
    EXPECT_EQ(sort_with(settings, {}, input).level, conservation::order_and_bounds);
    settings.limit = 3000;
    EXPECT_EQ(sort_with(settings, {}, input).level, conservation::everything);
  }
}

TEST_F(conservation_test, goes_on_with_what_another_process_has_looked_at) {
  const sort_settings settings = shapes().front().settings;
  const record::row_tallier tallier(settings.type);
  std::vector<uint64_t> words(1000);
  std::iota(words.begin(), words.end(), uint64_t{7});
  std::vector<batch> parts;
  for (const batch& b : numbers(pool_, words))
    for (size_t at = 0; at < b.num_rows; at += 90) parts.push_back(b.slice(at, std::min<size_t>(90, b.num_rows - at)));
  ASSERT_GT(parts.size(), 8U);
  record::row_tally taken;
  for (const batch& b : parts) taken += tallier.tally(b);

  outflow_check first(settings, taken, "by_key", {});
  first.keep_parts();
  std::vector<uint64_t> places;
  for (const batch& b : parts) places.push_back(first.place(b.num_rows));
  for (const size_t i : {2, 0, 3, 1, 5, 4}) first.add(places[i], parts[i].num_rows, {&parts[i], 1});
  EXPECT_EQ(first.given_before(places[2]).num_rows, places[2]);
  const record::row_tally before = first.given_before(places[4]);
  EXPECT_EQ(before.num_rows, places[4]);

  const auto rest = [&](size_t left_out) {
    conservation_result found;
    outflow_check second(settings, taken, "by_key", [&](const conservation_result& r) { found = r; });
    second.begin_at(places[4], before);
    for (size_t i = 4; i < parts.size(); ++i)
      if (i != left_out) second.add(second.place(parts[i].num_rows), parts[i].num_rows, {&parts[i], 1});
    second.end();
    return found;
  };
  const conservation_result whole = rest(parts.size());
  EXPECT_EQ(whole.level, conservation::everything);
  EXPECT_EQ(whole.rows_out, 1000U);
  EXPECT_THAT(error_of([&] { rest(4); }).what(), HasSubstr("it took 1,000 rows and gave 910"));
}

TEST_F(conservation_test, too_few_rows_for_a_limit_are_found) {
  sort_settings settings = shapes().front().settings;
  settings.limit = 100;
  outflow_check check(settings, record::row_tally{1000, 0}, "top", {});
  const batch none;
  check.add(check.place(0), 0, {&none, 1});
  EXPECT_THAT(error_of([&] { check.end(); }).what(), HasSubstr("gave 0, where 100 to 1,000 were expected"));
}

}  // namespace
}  // namespace flowrun::sort
