// Advice that suggests an expression is accepted when it is followed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string in = "in: {op: test.rows, with: {type: {k: u64, s: string, b: bool, f: f64, n: u8}}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

struct followed {
  std::string wrong, advice;
  std::vector<std::string> right;
};

TEST(advice, of_operators_is_accepted_when_followed) {
  const auto scan = [](const std::string& with) {
    return in + "x: {op: scan, in: in, with: {" + with + "}}\n" + out_of_x;
  };
  const auto flat_map = [](const std::string& rows) {
    return in + "x: {op: flat_map, in: in, with: {rows: [" + rows + "]}}\n" + out_of_x;
  };
  const auto lookup = [](const std::string& with) {
    return in + "t: {op: test.rows, with: {type: {k: u64, v: u8}}}\n" +
           "x: {op: lookup, in: {stream: in, table: t}, with: {by: [k], missing: default, " + with + "}}\n" + out_of_x;
  };
  const std::vector<followed> table = {
      {scan("state: {n: 0}, set: {n: s}"),
       "write to_u64(s)",
       {scan("state: {m: 0}, set: {m: to_u64(s)}, emit: {m: m}")}},
      {scan("state: {m: 0}, set: {m: f}, emit: {m: m}"),
       "write f64(0) in `state`",
       {scan("state: {m: f64(0)}, set: {m: f}, emit: {m: m}")}},
      {scan("state: {m: u8(0)}, set: {m: 300}, emit: {m: m}"),
       "write u64(u8(0)) in `state`",
       {scan("state: {m: u64(u8(0))}, set: {m: 300}, emit: {m: m}")}},
      {scan("state: {m: \"''\"}, set: {m: k}, emit: {m: m}"),
       "write string(k)",
       {scan("state: {m: \"''\"}, set: {m: string(k)}, emit: {m: m}")}},
      {scan("prefix_sum: {t: s}"), "write to_f64(s)", {scan("prefix_sum: {t: to_f64(s)}")}},
      {scan("prefix_sum: {t: b}"), "write u8(b) to count", {scan("prefix_sum: {t: u8(b)}")}},
      {flat_map("{p: k}, {p: s}"), "write to_u64(s)", {flat_map("{p: k}, {p: to_u64(s)}")}},
      {flat_map("{p: n}, {p: k}"), "write u64(n) in the first entry", {flat_map("{p: u64(n)}, {p: k}")}},
      {flat_map("{p: 1}, {p: -1}"), "write i64(1) in the first entry", {flat_map("{p: i64(1)}, {p: -1}")}},
      {flat_map("{p: 1}, {p: 1.5}"), "write f64(1) in the first entry", {flat_map("{p: f64(1)}, {p: 1.5}")}},
      {flat_map("{p: k}, {p: k, when: n}"), "write n != 0", {flat_map("{p: k}, {p: k, when: n != 0}")}},
      {flat_map("{p: k}, {p: k, when: s}"), "write s == 'true'", {flat_map("{p: k}, {p: k, when: \"s == 'true'\"}")}},
      {lookup("defaults: {v: 256}"), "write u64(x) where it gets its type", {lookup("defaults: {v: 0}")}},
      {lookup("defaults: {v: 1.5}"), "write u8(1.5)", {lookup("defaults: {v: u8(1.5)}")}},
  };
  for (const followed& f : table) {
    EXPECT_THAT(faults_of(f.wrong), ::testing::Contains(HasSubstr(f.advice))) << f.wrong;
    for (const std::string& right : f.right) EXPECT_THAT(faults_of(right), IsEmpty()) << right;
  }
}

// A number of a bucket and a place that are known to be none are faults, not internal errors.
TEST(advice, constants_that_do_not_fit_are_faults) {
  EXPECT_THAT(faults_of(in + "x: {op: partition, in: in, with: {by: -1, buckets: 3}}\n" + out_of_x),
              ElementsAre(HasSubstr("-1 does not fit in u64")));
  EXPECT_THAT(faults_of(in + "x: {op: permute, in: in, with: {to: -1}}\n" + out_of_x),
              ElementsAre(HasSubstr("-1 does not fit in u64")));
}

// A map in front of a join or a lookup, for keys of any types.
TEST(advice, of_joins_makes_keys_equal) {
  struct keys {
    std::string left, right, of_left, of_right;  // what the maps have for k
  };
  for (const keys& c : std::vector<keys>{{"u64", "string", "string(k)", "k"},
                                         {"string", "u64", "k", "string(k)"},
                                         {"u32", "i64", "i64(k)", "k"},
                                         {"i16", "string", "string(k)", "k"},
                                         {"f32", "string", "string(k)", "k"},
                                         {"bool", "u8", "u8(k)", "k"},
                                         {"bytes[4]", "string", "string(k)", "k"},
                                         {"bytes[4]", "bytes[6]", "string(k)", "string(k)"}}) {
    const auto nodes = [&](const std::string& of_left, const std::string& of_right, const std::string& x) {
      return "a: {op: test.rows, with: {type: {k: \"" + c.left + "\"}}}\n" + "b: {op: test.rows, with: {type: {k: \"" +
             c.right + "\", v: u8}}}\n" + "m: {op: map, in: a, with: {k: \"" + of_left + "\"}}\n" +
             "n: {op: map, in: b, with: {k: \"" + of_right + "\", v: v}}\n" +
             "l: {op: sort, in: m, with: {by: [k]}}\n" + "r: {op: sort, in: n, with: {by: [k]}}\n" + x + out_of_x;
    };
    for (const char* x : {"x: {op: join, in: {left: l, right: r}, with: {by: [k]}}\n",
                          "x: {op: lookup, in: {stream: l, table: r}, with: {by: [k], missing: drop}}\n"}) {
      const std::string changed = c.of_right == "k" ? c.of_left : c.of_right;
      EXPECT_THAT(faults_of(nodes("k", "k", x)), ElementsAre(HasSubstr("k: " + changed))) << c.left << " " << c.right;
      EXPECT_THAT(faults_of(nodes(c.of_left, c.of_right, x)), IsEmpty()) << c.left << " " << c.right;
    }
  }
}

}  // namespace
}  // namespace flowrun::operators::testing
