// group and reduce against sums over a map, for every aggregate and every type.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string out_of_x = "out: {op: test.sink, in: x}\n";

std::string source(const std::string& type, const std::string& sorted_by) {
  return fmt::format("in: {{op: test.rows, with: {{type: {}, sorted_by: {}}}}}\n", type, sorted_by);
}

// Groups of random lengths, among them many of one row and a few long ones.
std::vector<std::pair<int64_t, int64_t>> random_groups(uint64_t seed, size_t num_rows, int64_t low, int64_t high) {
  std::mt19937_64 random(seed);
  std::vector<std::pair<int64_t, int64_t>> out;
  int64_t key = 0;
  while (out.size() < num_rows) {
    const size_t length = random() % 10 == 0 ? random() % 200 : 1 + random() % 3;
    for (size_t i = 0; i < length; ++i)
      out.emplace_back(key, low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)));
    ++key;
  }
  return out;
}

TEST(group, aggregates_every_integer_type) {
  const std::tuple<const char*, int64_t, int64_t> types[] = {{"u8", 0, 255},
                                                             {"u16", 0, 65535},
                                                             {"u24", 0, (1 << 24) - 1},
                                                             {"u32", 0, 4294967295LL},
                                                             {"u40", 0, (1LL << 40) - 1},
                                                             {"u48", 0, (1LL << 48) - 1},
                                                             {"u64", 0, 1LL << 50},
                                                             {"i8", -128, 127},
                                                             {"i16", -32768, 32767},
                                                             {"i32", -2147483648LL, 2147483647},
                                                             {"i64", -(1LL << 50), 1LL << 50}};
  for (const auto& [type, low, high] : types) {
    const auto data = random_groups(11, 700, low, high);
    rows in, expected;
    for (const auto& [k, v] : data) in.push_back(fmt::format("{},{}", v, k));
    for (size_t from = 0; from < data.size();) {
      size_t to = from;
      int64_t sum = 0, least = high, most = low;
      for (; to < data.size() && data[to].first == data[from].first; ++to) {
        sum += data[to].second;
        least = std::min(least, data[to].second);
        most = std::max(most, data[to].second);
      }
      expected.push_back(fmt::format("{},{},{},{},{},{},{}", data[from].first, to - from, sum, least, most,
                                     data[from].second, data[to - 1].second));
      from = to;
    }
    const std::string nodes = source(fmt::format("{{v: {}, k: u64}}", type), "[k]") +
                              "x: {op: group, in: in, with: {by: [k], let: {n: count(), s: sum(v), least: min(v), "
                              "most: max(v), f: first(v), l: last(v)}}}\n" +
                              out_of_x;
    EXPECT_EQ(run_all_ways(nodes, {{"in", in}}), expected) << type;
  }
}

TEST(group, aggregates_expressions_and_text) {
  std::mt19937_64 random(12);
  rows in, expected;
  for (int key = 0; key < 150; ++key) {
    const int length = 1 + static_cast<int>(random() % 5);
    std::string least, most, first, last;
    uint64_t sum = 0;
    for (int i = 0; i < length; ++i) {
      const std::string text(random() % 20, static_cast<char>('a' + random() % 3));
      const uint64_t v = random() % 100;
      in.push_back(fmt::format("key{:03},{},{}", key, text, v));
      sum += v * v;
      least = i == 0 ? text : std::min(least, text);
      most = i == 0 ? text : std::max(most, text);
      if (i == 0) first = text;
      last = text;
    }
    expected.push_back(fmt::format("key{:03},{},{},{},{},{}!", key, sum, least, most, first, last));
  }
  const std::string nodes = source("{k: string, s: string, v: u32}", "[k]") +
                            "x: {op: group, in: in, with: {by: [k], let: {q: sum(v * v), a: min(s), b: max(s), c: "
                            "first(s), d: \"last(concat(s, '!'))\"}}}\n" +
                            out_of_x;
  EXPECT_EQ(run_all_ways(nodes, {{"in", in}}), expected);
}

TEST(group, takes_floats_in_the_order_of_a_sort) {
  const std::string nodes = source("{k: u8, f: f32, d: f64, b: \"bytes[2]\", o: bool}", "[k]") +
                            "x: {op: group, in: in, with: {by: [k], let: {s: sum(f), t: sum(d), a: min(f), z: max(d), "
                            "m: max(b), y: max(o)}}}\n" +
                            out_of_x;
  EXPECT_THAT(
      run_all_ways(nodes,
                   {{"in", {"1,0.5,-1,ab,false", "1,-2.5,0.25,b!,true", "1,nan,-3,aa,false", "2,1,-inf,zz,false"}}}),
      ElementsAre("1,nan,-3.75,-2.5,0.25,b!,true", "2,1,-inf,1,-inf,zz,false"));
}

TEST(group, has_no_aggregates_where_none_are_asked_for) {
  const std::string nodes =
      source("{a: u8, b: u16, c: u8}", "[b, a]") + "x: {op: group, in: in, with: {by: [a, b]}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"1,1,0", "1,1,1", "2,1,0", "1,2,0", "1,2,0"}}}),
              ElementsAre("1,1", "2,1", "1,2"));
  EXPECT_EQ(output_of(nodes, "x"), "{a: u8, b: u16} by b, a");
}

TEST(group, of_everything_has_one_row) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {v: i32, s: string}}}\n"
      "x: {op: group, in: in, with: {by: [], let: {n: count(), least: min(v), t: max(s)}}}\n" +
      out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {"3,a", "-4,c", "5,b"}}}), ElementsAre("3,-4,c"));
  EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), ElementsAre("0,0,"));
}

TEST(group, of_nothing_is_empty) {
  const std::string nodes =
      source("{k: u8}", "[k]") + "x: {op: group, in: in, with: {by: [k], let: {n: count()}}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), IsEmpty());
}

TEST(group, needs_its_groups_adjacent) {
  EXPECT_THAT(
      faults_of(
          "in: {op: test.rows, with: {type: {k: u8}}}\nx: {op: group, in: in, with: {by: [k], let: {n: count()}}}\n" +
          out_of_x),
      ElementsAre(HasSubstr("op: sort")));
  EXPECT_THAT(
      faults_of(source("{k: u8}", "[k]") + "x: {op: group, in: in, with: {by: [k], let: {k: count()}}}\n" + out_of_x),
      ElementsAre(HasSubstr("'k' is a key of the group")));
  EXPECT_THAT(
      faults_of(source("{k: u8}", "[k]") + "x: {op: group, in: in, with: {by: [k], let: {n: total(k)}}}\n" + out_of_x)
          .at(0),
      HasSubstr("total"));
}

TEST(group, counts_different_values_of_every_type) {
  std::mt19937_64 random(14);
  for (const std::string type :
       {"u8", "u24", "u64", "i16", "i64", "f32", "f64", "bool", "string", "bytes[3]", "bytes[12]"}) {
    std::map<int, std::set<std::string>> values;
    std::map<int, std::vector<std::string>> with_repeats;
    for (int i = 0; i < 900; ++i) {
      const int key = static_cast<int>(random() % 40), number = static_cast<int>(random() % (1 + key));
      const std::string value = type == "bool"        ? (number % 2 == 0 ? "false" : "true")
                                : type == "bytes[3]"  ? fmt::format("{:03}", number)
                                : type == "bytes[12]" ? fmt::format("{:012}", number)
                                : type == "string"    ? std::string(static_cast<size_t>(number), 'x')
                                                      : fmt::format("{}", number);
      values[key].insert(value);
      with_repeats[key].push_back(value);
    }
    rows in, expected;
    for (auto& [key, group] : with_repeats) {
      std::stable_sort(group.begin(), group.end(), [](const std::string& a, const std::string& b) {
        return std::pair(a.size(), a) < std::pair(b.size(), b);
      });
      for (const std::string& value : group) in.push_back(fmt::format("{},{}", key, value));
      expected.push_back(fmt::format("{},{},{}", key, values[key].size(), group.size()));
    }
    const std::string nodes = source(fmt::format("{{k: u8, v: \"{}\"}}", type), "[k, v]") +
                              "x: {op: group, in: in, with: {by: [k], let: {d: count_distinct(v), n: count()}}}\n" +
                              out_of_x;
    EXPECT_EQ(run_all_ways(nodes, {{"in", in}}), expected) << type;
  }
}

TEST(group, counts_different_values_of_all_rows) {
  for (const char* op : {"{op: group, in: in, with: {by: [], let: {d: count_distinct(v), n: count()}}}\n",
                         "{op: reduce, in: in, with: {let: {d: count_distinct(v), n: count()}}}\n"}) {
    const std::string nodes = source("{v: f64}", "[v]") + "x: " + op + out_of_x;
    EXPECT_THAT(run_all_ways(nodes, {{"in", {"-inf", "-0", "0", "0", "7", "7", "nan"}}}), ElementsAre("5,7"));
    EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), ElementsAre("0,0"));
  }
}

TEST(group, needs_equal_values_next_to_each_other_to_count_them) {
  const auto faults = [](const std::string& sorted_by, const std::string& node) {
    return faults_of(source("{k: u8, v: u8, w: u8}", sorted_by) + "x: " + node + "\n" + out_of_x);
  };
  EXPECT_THAT(faults("[k]", "{op: group, in: in, with: {by: [k], let: {d: count_distinct(v)}}}"),
              ElementsAre(AllOf(HasSubstr("needs equal k, v of 'in' next to each other"), HasSubstr("by: [k, v]"),
                                HasSubstr("approx_count_distinct(v)"), HasSubstr("combine: …"))));
  EXPECT_THAT(faults("[k]", "{op: reduce, in: in, with: {let: {d: count_distinct(v)}}}"),
              ElementsAre(HasSubstr("'reduce' needs equal v")));
  EXPECT_THAT(
      faults("[k, v, w]", "{op: group, in: in, with: {by: [k], let: {d: count_distinct(v), e: count_distinct(w)}}}"),
      ElementsAre(HasSubstr("needs equal k, w")));
  EXPECT_THAT(faults("[k, v]", "{op: group, in: in, with: {by: [k], let: {d: count_distinct(v + 1)}}}"),
              ElementsAre(HasSubstr("'v + 1' is not a column")));
  EXPECT_THAT(faults("[v, k]", "{op: group, in: in, with: {by: [k], let: {d: count_distinct(v)}}}"),
              ElementsAre(HasSubstr("needs equal k of 'in'")));
  EXPECT_THAT(faults("[-v, k]", "{op: group, in: in, with: {by: [k, v], let: {d: count_distinct(k)}}}"), IsEmpty());
}

TEST(group, estimates_quantiles_the_same_way_in_any_parts) {
  std::mt19937_64 random(15);
  rows in;
  std::vector<double> exact;  // the median of each group
  for (const size_t length : {1U, 4096U, 3U, 9001U}) {
    std::vector<uint64_t> values;
    while (values.size() < length) values.push_back(1000 + random() % 50000);
    for (const uint64_t v : values) in.push_back(fmt::format("{},{}", exact.size(), v));
    std::sort(values.begin(), values.end());
    exact.push_back(static_cast<double>(values[(length - 1) / 2] + values[length / 2]) / 2);
  }
  const rows found =
      run_all_ways(source("{k: u8, v: u32}", "[k]") +
                       "x: {op: group, in: in, with: {by: [k], let: {m: \"approx_quantile(v, 0.5)\"}}}\n" + out_of_x,
                   {{"in", in}});
  ASSERT_EQ(found.size(), exact.size());
  for (size_t k = 0; k < exact.size(); ++k) {
    const double median = std::stod(found[k].substr(found[k].find(',') + 1));
    EXPECT_NEAR(median, exact[k], k < 3 ? 0 : exact[k] / 256) << k;
  }
  EXPECT_EQ(run_all_ways("in: {op: test.rows, with: {type: {k: u8, v: u32}}}\n"
                         "x: {op: reduce, in: in, with: {let: {m: \"approx_quantile(v, 0.75)\"}}}\n" +
                             out_of_x,
                         {{"in", in}})
                .size(),
            1U);
}

TEST(reduce, adds_up_a_stream) {
  const auto data = random_groups(13, 5000, -1000, 1000);
  rows in;
  int64_t sum = 0, least = 1000, most = -1000;
  for (const auto& [k, v] : data) {
    in.push_back(fmt::format("{},{}", k, v));
    sum += v * 2;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  const std::string nodes = source("{k: u32, v: i16}", "[k]") +
                            "x: {op: reduce, in: in, with: {let: {n: count(), s: sum(v * 2), a: min(v), z: max(v), f: "
                            "first(k), l: last(k)}}}\n" +
                            out_of_x;
  const std::string expected =
      fmt::format("{},{},{},{},{},{}", data.size(), sum, least, most, data.front().first, data.back().first);
  EXPECT_THAT(run_all_ways(nodes, {{"in", in}}), ElementsAre(expected));
  const run_result result = run(nodes, {{"in", in}});
  EXPECT_EQ(result.values.at("x.n"), std::to_string(data.size()));
  EXPECT_EQ(result.values.at("x.a"), std::to_string(least));
}

TEST(reduce, sums_floats_the_same_way_however_batches_are_cut) {
  rows in;
  double sum = 0;
  std::mt19937_64 random(14);
  for (int i = 0; i < 3000; ++i) {
    const double v = static_cast<double>(random() % 1000000) / 7.0;
    sum += v;
    in.push_back(fmt::format("{}", v));
  }
  const std::string nodes =
      "in: {op: test.rows, with: {type: {v: f64}}}\nx: {op: reduce, in: in, with: {let: {s: sum(v)}}}\n" + out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", in}}), ElementsAre(fmt::format("{}", sum)));
}

TEST(reduce, gives_zeros_for_an_empty_stream) {
  const std::string nodes = source("{k: i32, s: string}", "[k]") +
                            "x: {op: reduce, in: in, with: {let: {n: count(), a: min(k), t: first(s)}, hash: true}}\n" +
                            out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"in", {}}}), ElementsAre("0,0,,0,0"));
}

TEST(reduce, hashes_rows_whatever_their_order) {
  for (const char* let : {"", "let: {n: count()}, ", "let: {n: sum(k + 1)}, "}) {
    const std::string nodes = "in: {op: test.rows, with: {type: {k: u8, s: string}}}\n" +
                              fmt::format("x: {{op: reduce, in: in, with: {{{}hash: true}}}}\n", let);
    const std::string hash = run(nodes, {{"in", {"1,a", "2,bc", "3,"}}}).values.at("x.hash");
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_EQ(run(nodes, {{"in", {"3,", "1,a", "2,bc"}}}, {.most_rows = 1}).values.at("x.hash"), hash);
    EXPECT_NE(run(nodes, {{"in", {"3,", "1,ab", "2,c"}}}).values.at("x.hash"), hash);
    EXPECT_NE(run(nodes, {{"in", {"1,a", "2,bc", "3,", "3,"}}}).values.at("x.hash"), hash);
  }
}

TEST(reduce, needs_something_to_do) {
  EXPECT_THAT(faults_of(source("{k: u8}", "[k]") + "x: {op: reduce, in: in}\n"),
              ElementsAre(HasSubstr("a reduce needs aggregates")));
}

}  // namespace
}  // namespace flowrun::operators::testing
