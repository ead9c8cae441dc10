// Every operator that has expressions, with a scalar in them, in a loop: each iteration sees the value of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/job_rig.h"

namespace flowrun::exec {
namespace {

// In the first iteration t is 5 and the rows are 5, 6, 7; in the second it is 6 and they are 6, 7, 8.
constexpr const char* job = R"yaml(
  twice:
    op: loop
    with:
      carry: {t: {value: 5}}
      body:
        n:       {op: generate, with: {rows: 3, columns: {x: "i + t"}}}
        m:       {op: map, in: n, with: {y: "x * t"}}
        filter:  {op: filter, in: n, with: {where: "x > t"}}
        several: {op: flat_map, in: n, with: {rows: [{v: x}, {v: t, when: "x == t"}]}}
        scan:    {op: scan, in: n, with: {state: {s: t}, set: {s: "s + x"}, emit: {s: s}}}
        sort:    {op: sort, in: n, with: {by: ["(x + t) % 3"]}}
        reduce:  {op: reduce, in: n, with: {let: {total: "sum(x + t)"}}}
        group:   {op: group, in: n, with: {by: [], let: {total: "sum(x * t)"}}}
        split:   {op: split, in: n, with: {ports: {low: "x < t + 1"}}}
        window:  {op: window, in: n, with: {before: 1, pad: {x: t}, let: {d: "x - row[-1].x + t"}}}
        table:   {op: generate, with: {rows: 1, columns: {x: "i + t + 1", w: i}}}
        lookup:  {op: lookup, in: {stream: n, table: table},
                  with: {by: [x], missing: default, defaults: {w: "t * 2"}}}
        pairs:   {op: group_pairs, in: n, with: {by: [], let: {p: "a.x + b.x + t"}}}
        merge:   {op: merge, in: [n, n], with: {less: "a.x + t < b.x + t"}}
        check:   {op: check, in: n, with: {where: "x >= t"}}
        buckets: {op: partition, in: n, with: {by: "2 - (x - t)", buckets: 3}}
        places:  {op: permute, in: n, with: {to: "2 - (x - t)"}}
        sorted:  {op: sort, in: n, with: {by: [x]}}
        pq_scan: {op: pq_scan, in: {n: sorted}, with: {order: [x], state: {s: t}, on: [{emit: {s: "s + x + t"}}]}}
        tokens:  {op: tokens, in: n, with: {text: "concat('a', string(t))"}}
        edges:   {op: map, in: n, with: {src: "u32(x - t)", dst: u32(0)}}
        union:   {op: union_find, in: edges, with: {nodes: t}}
      next: {t: "t + 1"}
      times: 2
      collect: {map: m, filter: filter, flat_map: several, scan: scan, sort: sort, reduce: reduce, group: group,
                split: split.low, window: window, lookup: lookup, group_pairs: pairs, merge: merge, check: check,
                partition: buckets, permute: places, pq_scan: pq_scan, tokens: tokens, union_find: union.labels}
)yaml";

const std::map<std::string, std::string> expected = {
    {"map", "25\n30\n35\n36\n42\n48\n"},
    {"filter", "6\n7\n7\n8\n"},
    {"flat_map", "5\n5\n6\n7\n6\n6\n7\n8\n"},
    {"scan", "10\n16\n23\n12\n19\n27\n"},
    {"sort", "7\n5\n6\n6\n7\n8\n"},
    {"reduce", "33\n39\n"},
    {"group", "90\n126\n"},
    {"split", "5\n6\n"},
    {"window", "5,5\n6,6\n7,6\n6,6\n7,7\n8,7\n"},
    {"lookup", "5,10\n6,0\n7,10\n6,12\n7,0\n8,12\n"},
    {"group_pairs", "16\n17\n18\n19\n20\n21\n"},
    {"merge", "5\n5\n6\n6\n7\n7\n6\n6\n7\n7\n8\n8\n"},
    {"check", "5\n6\n7\n6\n7\n8\n"},
    {"partition", "7\n6\n5\n8\n7\n6\n"},
    {"permute", "7\n6\n5\n8\n7\n6\n"},
    {"pq_scan", "15\n16\n17\n18\n19\n20\n"},
    {"tokens", "a5\na5\na5\na6\na6\na6\n"},
    {"union_find", "0,0\n1,0\n2,0\n3,3\n4,4\n0,0\n1,0\n2,0\n3,3\n4,4\n5,5\n"},
};

TEST(scalars, have_the_value_of_the_iteration_in_every_operator) {
  std::string text = job;
  for (const auto& [name, rows] : expected)
    text += "  w_" + name + ": {op: file.write_csv, in: twice." + name + ", with: {path: @OUT/" + name + "}}\n";
  const auto outputs = outputs_everywhere(text);
  for (const auto& [name, rows] : expected) EXPECT_EQ(outputs.at(name), rows) << name;
}

}  // namespace
}  // namespace flowrun::exec
