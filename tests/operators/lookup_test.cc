// lookup: columns from a table in memory, and the table itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "operators/parts/order/lookup_table.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string job(const std::string& stream, const std::string& table, const std::string& with) {
  return "s: {op: test.rows, with: {type: {" + stream + "}}}\nt: {op: test.rows, with: {type: {" + table +
         "}}}\nx: {op: lookup, in: {stream: s, table: t}, with: {" + with + "}}\nout: {op: test.sink, in: x}\n";
}

// A table with `num_keys` of the keys below `range`, and a stream that asks for keys below `range`.
void random_case(uint64_t seed, const std::string& key_type, uint64_t range, size_t num_keys, const std::string& kind,
                 bool shuffled) {
  std::mt19937_64 random(seed);
  std::map<uint64_t, std::string> values;
  while (values.size() < num_keys) values.emplace(random() % range, fmt::format("{}", random() % 1000));
  rows table, stream, dropped, with_defaults;
  for (const auto& [key, value] : values) table.push_back(fmt::format("{},{}", value, key));
  if (shuffled) std::shuffle(table.begin(), table.end(), random);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t key = random() % range;
    stream.push_back(fmt::format("{},{}", key, i));
    const auto at = values.find(key);
    if (at != values.end()) dropped.push_back(stream.back() + "," + at->second);
    with_defaults.push_back(stream.back() + "," + (at == values.end() ? "7" : at->second));
  }
  const std::string columns = fmt::format("k: {}, n: u16", key_type);
  const std::string table_columns = fmt::format("v: u32, key: {}", key_type);
  const std::string with = "by: {k: key}, kind: " + kind;
  const std::map<std::string, rows> inputs = {{"s", stream}, {"t", table}};
  EXPECT_EQ(run_all_ways(job(columns, table_columns, with + ", missing: drop"), inputs), dropped) << "seed " << seed;
  EXPECT_EQ(run_all_ways(job(columns, table_columns, with + ", missing: default, defaults: {v: 7}"), inputs),
            with_defaults)
      << "seed " << seed;
}

TEST(lookup, finds_what_the_table_has) {
  random_case(1, "u16", 2000, 2000, "auto", false);
  random_case(2, "u16", 2000, 1500, "array", true);
  random_case(3, "u64", 1000000000, 900, "auto", true);
  random_case(4, "u24", 60000, 20000, "auto", true);
  random_case(5, "i32", 3000, 2500, "auto", false);
  random_case(6, "u32", 3000, 2500, "hash", true);
  random_case(7, "u32", 10, 0, "auto", false);
}

TEST(lookup, takes_keys_of_several_columns_and_strings) {
  std::mt19937_64 random(8);
  std::map<std::string, std::string> values;
  const auto key = [&] {
    return fmt::format("{},{}", std::string(random() % 20, static_cast<char>('a' + random() % 3)), random() % 5);
  };
  rows table, stream, expected;
  for (int i = 0; i < 150; ++i) values.emplace(key(), std::string(random() % 12, 'v') + std::to_string(i));
  for (const auto& [k, v] : values) table.push_back(k + "," + v);
  for (int i = 0; i < 1500; ++i) {
    const std::string k = key();
    stream.push_back(fmt::format("{},{}", i, k));
    expected.push_back(stream.back() + "," + (values.contains(k) ? values[k] : "none"));
  }
  EXPECT_EQ(run_all_ways(job("i: u16, s: string, n: u8", "s: string, m: u8, v: string",
                             "by: {s: s, n: m}, missing: default, defaults: {v: \"'none'\"}"),
                         {{"s", stream}, {"t", table}}),
            expected);
}

TEST(lookup, adds_nothing_from_a_table_of_keys) {
  const std::string nodes = job("k: u8, s: string", "k: u8", "by: [k], missing: drop");
  EXPECT_THAT(run_all_ways(nodes, {{"s", {"1,a", "2,b", "3,c", "1,d"}}, {"t", {"3", "1"}}}),
              ElementsAre("1,a", "3,c", "1,d"));
  EXPECT_THAT(run_all_ways(nodes, {{"s", {}}, {"t", {"3", "1"}}}), IsEmpty());
}

TEST(lookup, gives_columns_of_the_table_other_names) {
  const std::string nodes =
      "a: {op: test.rows, with: {type: {k: u8, v: string}}}\n"
      "b: {op: test.rows, with: {type: {k: u8, v: string, n: u16}}}\n"
      "x: {op: lookup, in: {stream: a, table: b}, with: {by: [k], rename: {v: w}, missing: default, defaults: {v: "
      "\"'no'\", n: 7}}}\n"
      "out: {op: test.sink, in: x}\n";
  EXPECT_THAT(run_all_ways(nodes, {{"a", {"2,x", "1,y"}}, {"b", {"1,p,3"}}}), ElementsAre("2,x,no,7", "1,y,p,3"));
  EXPECT_EQ(output_of(nodes, "x"), "{k: u8, v: string, w: string, n: u16} by nothing");
}

TEST(lookup, keeps_the_streams_order) {
  EXPECT_EQ(output_of("s: {op: test.rows, with: {type: {k: u8, n: u8}, sorted_by: [-n]}}\n"
                      "t: {op: test.rows, with: {type: {v: f32, k: u8}}}\n"
                      "x: {op: lookup, in: {stream: s, table: t}, with: {by: [k]}}\nout: {op: test.sink, in: x}\n",
                      "x"),
            "{k: u8, n: u8, v: f32} by -n");
}

error_kind kind_of_failure(const std::string& nodes, const std::map<std::string, rows>& inputs,
                           const run_options& options, const std::string& part) {
  try {
    run(nodes, inputs, options);
  } catch (const error& e) {
    EXPECT_THAT(e.what(), HasSubstr(part));
    return e.kind();
  }
  ADD_FAILURE() << "no error";
  return error_kind::internal;
}

TEST(lookup, fails_on_keys_that_are_missing_or_there_twice) {
  const std::string nodes = job("k: u8", "k: u8, v: u8", "by: [k]");
  EXPECT_THAT(run(nodes, {{"s", {"1"}}, {"t", {"1,5"}}}).sinks["out"], ElementsAre("1,5"));
  EXPECT_EQ(kind_of_failure(nodes, {{"s", {"1", "4"}}, {"t", {"1,5"}}}, {},
                            "node 'x': the table 't' has no row for {k: 4} of 's'"),
            error_kind::bad_data);
  const std::map<std::string, rows> twice = {{"s", {}}, {"t", {"1,5", "2,6", "1,7"}}};
  EXPECT_EQ(kind_of_failure(nodes, twice, {}, "two rows of the key k 1"), error_kind::bad_data);
  EXPECT_EQ(kind_of_failure(job("k: u8", "k: u8, v: u8", "by: [k], kind: hash"), twice, {}, "two rows of the key k 1"),
            error_kind::bad_data);
}

TEST(lookup, ends_when_the_table_outgrows_its_memory) {
  rows table;
  for (int i = 0; i < 60000; ++i) table.push_back(fmt::format("{},{}", i * 1000, std::string(100, 'x')));
  const run_options options{.memory_bytes = 2 * MiB};
  EXPECT_EQ(kind_of_failure(job("k: u32", "k: u32, v: \"bytes[100]\"", "by: [k]"), {{"s", {}}, {"t", table}}, options,
                            "the table 't' takes"),
            error_kind::resources);
  EXPECT_EQ(kind_of_failure(job("k: u32", "k: u32, v: string", "by: [k]"), {{"s", {}}, {"t", table}}, options,
                            "the table 't' takes"),
            error_kind::resources);
  EXPECT_EQ(kind_of_failure(job("k: u64", "k: u64", "by: [k], kind: array"),
                            {{"s", {}}, {"t", {"1", "18446744073709551615"}}}, options, "the table 't' takes"),
            error_kind::resources);
}

TEST(lookup, reports_faults) {
  const auto faults = [](const std::string& with) {
    return faults_of(job("k: u8, n: u16, v: u8", "k: u8, m: u8, w: string", with));
  };
  EXPECT_THAT(faults("by: []"), ElementsAre(HasSubstr("needs at least one key")));
  EXPECT_THAT(faults("by: {n: m}"), ElementsAre(AllOf(HasSubstr("'n' is u16 in 's'"), HasSubstr("same type"))));
  EXPECT_THAT(faults("by: [l]"), ElementsAre(HasSubstr("no column 'l'"), HasSubstr("no column 'l'")));
  EXPECT_THAT(faults("by: {v: m}"), ElementsAre(HasSubstr("both 's' and 't' have a column 'k'")));
  EXPECT_THAT(faults("by: [k], kind: array, missing: default, defaults: {w: 1}"), ElementsAre(HasSubstr("string")));
  EXPECT_THAT(faults("by: [k], missing: default, defaults: {k: 1}"), ElementsAre(HasSubstr("'k' is a key")));
  EXPECT_THAT(faults("by: [k], defaults: {w: \"''\"}"), ElementsAre(HasSubstr("for keys that are missing")));
  EXPECT_THAT(faults("by: {k: k, v: m}, kind: array"), ElementsAre(HasSubstr("one key of an unsigned type")));
  EXPECT_THAT(faults("by: [k], missing: skip"), ElementsAre(HasSubstr("'skip' is not right for 'missing'")));
}

}  // namespace
}  // namespace flowrun::operators::testing
