// pq_scan: time-forward processing, beside brute force on random graphs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <regex>

#include "engine/base/error.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct edge {
  uint32_t from, to;
  int weight;
  bool operator<(const edge& other) const {
    return std::tie(from, to, weight) < std::tie(other.from, other.to, other.weight);
  }
};
struct graph {
  uint32_t num_nodes;
  std::vector<edge> edges;  // from < to, sorted
};

graph random_graph(uint64_t seed) {
  std::mt19937_64 random(seed);
  graph g{static_cast<uint32_t>(1 + random() % (seed % 10 == 0 ? 3000 : 40)), {}};
  for (uint64_t m = random() % (4 * g.num_nodes); m > 0 && g.num_nodes > 1; --m) {
    auto a = static_cast<uint32_t>(random() % g.num_nodes), b = static_cast<uint32_t>(random() % g.num_nodes);
    if (random() % 2 == 0) b = std::min(g.num_nodes - 1, a + 1 + static_cast<uint32_t>(random() % 3));
    if (a != b) g.edges.push_back({std::min(a, b), std::max(a, b), static_cast<int>(random() % 21) - 10});
  }
  std::sort(g.edges.begin(), g.edges.end());
  return g;
}

const std::string graph_in =
    "nodes: {op: test.rows, with: {type: {node: u32}, sorted_by: [node]}}\n"
    "edges: {op: test.rows, with: {type: {node: u32, to: u32, w: i32}, sorted_by: [node, to]}}\n";
const std::string out_of_x = "out: {op: test.sink, in: x}\n";

std::map<std::string, rows> rows_of(const graph& g) {
  std::map<std::string, rows> out{{"nodes", {}}, {"edges", {}}};
  for (uint32_t v = 0; v < g.num_nodes; ++v) out["nodes"].push_back(std::to_string(v));
  for (const edge& e : g.edges) out["edges"].push_back(fmt::format("{},{},{}", e.from, e.to, e.weight));
  return out;
}

// On hundreds of graphs, with many batch boundaries, and over scratch.
template <class Right>
void compare(const std::string& nodes, int num_graphs, Right&& right) {
  for (int seed = 1; seed <= num_graphs; ++seed) {
    const graph g = random_graph(static_cast<uint64_t>(seed));
    const auto s = static_cast<uint64_t>(seed);
    const run_options options{.seed = s,
                              .most_rows = s % 3 == 0 ? 5U : 1000U,
                              .batch_bytes = s % 2 == 0 ? 64U : 64U * 1024,
                              .memory_bytes = s % 4 == 0 ? 1U << 24 : 0U,
                              .force_spill = s % 4 == 1};
    ASSERT_EQ(run(nodes, rows_of(g), options).sinks["out"], right(g)) << "seed " << seed;
  }
}

rows right_mis(const graph& g) {
  std::vector<bool> blocked(g.num_nodes, false);
  rows out;
  size_t next = 0;
  for (uint32_t v = 0; v < g.num_nodes; ++v) {
    if (!blocked[v]) out.push_back(std::to_string(v));
    for (; next < g.edges.size() && g.edges[next].from == v; ++next)
      if (!blocked[v]) blocked[g.edges[next].to] = true;
  }
  return out;
}

TEST(pq_scan, finds_maximal_independent_sets) {
  compare(graph_in +
              "x:\n"
              "  op: pq_scan\n"
              "  in: {nodes: nodes, edges: edges}\n"
              "  with:\n"
              "    order: [node]\n"
              "    group: [node]\n"
              "    state: {blocked: \"false\"}\n"
              "    on:\n"
              "      - {from: messages, set: {blocked: \"true\"}}\n"
              "      - {from: nodes, when: not blocked, emit: {node: node}}\n"
              "      - {from: edges, when: not blocked, push: {node: to}}\n" +
              out_of_x,
          200, right_mis);
}

// Thousands of rows and of messages with one key: more than a chunk, than a queue without memory has room for, and than
// happens between two looks at the outside.
TEST(pq_scan, goes_through_many_events_at_once) {
  const uint32_t n = 40'000;
  for (const bool first_is_centre : {true, false}) {
    graph g{n, {}};
    for (uint32_t v = 1; v + 1 < n; ++v)
      g.edges.push_back(first_is_centre ? edge{0, v, 1} : edge{v, n - 1, static_cast<int>(v % 3)});
    for (const bool by_chunk : {true, false}) {
      // What a rule pushes is known from the rows alone, or only when the state is.
      const std::string nodes = graph_in +
                                "x:\n"
                                "  op: pq_scan\n"
                                "  in: {nodes: nodes, edges: edges}\n"
                                "  with:\n"
                                "    order: [node]\n"
                                "    group: [node]\n"
                                "    state: {blocked: \"false\", told: u32(0)}\n"
                                "    message: {node: u32, from: u32}\n"
                                "    on:\n"
                                "      - {from: messages, set: {blocked: \"true\", told: told + 1}}\n"
                                "      - {from: nodes, emit: {node: node, told: told}}\n"
                                "      - {from: edges, when: not blocked, push: {node: to, from: " +
                                std::string(by_chunk ? "u32(w)" : "told") + "}}\n" + out_of_x;
      rows right;
      for (uint32_t v = 0; v < n; ++v) {
        const bool inner = v > 0 && v + 1 < n;
        const uint32_t told = first_is_centre ? (inner ? 1 : 0) : (v + 1 == n ? n - 2 : 0);
        right.push_back(fmt::format("{},{}", v, told));
      }
      for (const bool force_spill : {false, true}) {
        const run_options options{.most_rows = 5000U, .force_spill = force_spill};
        ASSERT_EQ(run(nodes, rows_of(g), options).sinks["out"], right) << first_is_centre << by_chunk << force_spill;
      }
    }
  }
}

// Each end of a group tells the next group, whose key no input has.
TEST(pq_scan, sends_messages_at_the_end_of_groups) {
  for (const bool tells : {true, false}) {
    const std::string nodes =
        "nodes: {op: test.rows, with: {type: {node: u32, part: u32}, sorted_by: [node, part]}}\n"
        "x:\n"
        "  op: pq_scan\n"
        "  in: {nodes: nodes}\n"
        "  with:\n"
        "    order: [node, part]\n"
        "    group: [node]\n"
        "    state: {sum: u32(0)}\n"
        "    message: {node: u32, part: u32, more: u32}\n"
        "    on:\n"
        "      - {from: messages, set: {sum: sum + more}}\n"
        "      - {from: nodes, set: {sum: sum + part}}\n"
        "    at_end:\n"
        "      - {emit: {node: node, sum: sum}}\n" +
        std::string(tells ? "      - {when: node < 7, push: {node: node + 1, part: 9, more: sum}}\n" : "") + out_of_x;
    const rows right = tells ? rows{"2,3", "3,3", "4,3", "5,8", "6,8", "7,8", "9,4"} : rows{"2,3", "5,5", "9,4"};
    EXPECT_EQ(run(nodes, {{"nodes", {"2,1", "2,2", "5,5", "9,4"}}}).sinks["out"], right);
  }
}

// The same with a column that tells events apart, as in the design of the language.
TEST(pq_scan, tells_events_apart_by_a_column) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const graph g = random_graph(seed);
    std::map<std::string, rows> inputs{{"events", {}}};
    size_t next = 0;
    for (uint32_t v = 0; v < g.num_nodes; ++v) {
      inputs["events"].push_back(fmt::format("{},1,0", v));
      for (; next < g.edges.size() && g.edges[next].from == v; ++next)
        inputs["events"].push_back(fmt::format("{},2,{}", v, g.edges[next].to));
    }
    const std::string nodes =
        "events: {op: test.rows, with: {type: {node: u32, kind: u8, dst: u32}, sorted_by: [node, kind, dst]}}\n"
        "x:\n"
        "  op: pq_scan\n"
        "  in: events\n"
        "  with:\n"
        "    order: [node, kind, dst]\n"
        "    group: [node]\n"
        "    state: {blocked: \"false\"}\n"
        "    on:\n"
        "      - {when: kind == 0, set: {blocked: \"true\"}}\n"
        "      - {when: kind == 1 and not blocked, emit: {node: node}}\n"
        "      - {when: kind == 2 and not blocked, push: {node: dst, kind: 0, dst: 0}}\n" +
        out_of_x;
    ASSERT_EQ(run(nodes, inputs, {.seed = seed, .force_spill = seed % 2 == 0}).sinks["out"], right_mis(g)) << seed;
  }
}

TEST(pq_scan, colours_greedily) {
  compare(graph_in +
              "x:\n"
              "  op: pq_scan\n"
              "  in: {nodes: nodes, edges: edges}\n"
              "  with:\n"
              "    order: [node]\n"
              "    group: [node]\n"
              "    state: {colour: u16(0)}\n"
              "    message: {node: u32, taken: u16}\n"
              "    on:\n"
              "      - {from: messages, when: taken == colour, set: {colour: colour + 1}}\n"
              "      - {from: nodes, emit: {node: node, colour: colour}}\n"
              "      - {from: edges, push: {node: to, taken: colour}}\n" +
              out_of_x,
          150, [](const graph& g) {
            std::vector<std::vector<uint32_t>> lower(g.num_nodes);
            for (const edge& e : g.edges) lower[e.to].push_back(e.from);
            std::vector<int> colour(g.num_nodes);
            rows out;
            for (uint32_t v = 0; v < g.num_nodes; ++v) {
              std::vector<int> taken;
              for (uint32_t u : lower[v]) taken.push_back(colour[u]);
              while (std::find(taken.begin(), taken.end(), colour[v]) != taken.end()) ++colour[v];
              out.push_back(fmt::format("{},{}", v, colour[v]));
            }
            return out;
          });
}

// Signed and wide messages, rules in a chain, and the end of a group.
TEST(pq_scan, finds_longest_paths) {
  compare(graph_in +
              "x:\n"
              "  op: pq_scan\n"
              "  in: {edges: edges, nodes: nodes}\n"
              "  with:\n"
              "    order: [node]\n"
              "    group: [node]\n"
              "    state: {dist: i64(0), degree: 0}\n"
              "    message: {via: i64, pad: f64}\n"
              "    on:\n"
              "      - {from: messages, when: dist < via, set: {dist: via}}\n"
              "      - {from: edges, set: {degree: degree + 1}, push: {node: to, via: \"max(dist + w, i64(0))\", pad: "
              "-0.5}}\n"
              "    at_end:\n"
              "      - {when: node % 2 == 0, emit: {node: node, dist: dist, degree: degree}}\n"
              "      - {when: node % 2 == 1, emit: {node: node, dist: dist, degree: degree}}\n" +
              out_of_x,
          150, [](const graph& g) {
            std::vector<int64_t> dist(g.num_nodes, 0), degree(g.num_nodes, 0);
            for (const edge& e : g.edges) {
              dist[e.to] = std::max(dist[e.to], std::max<int64_t>(dist[e.from] + e.weight, 0));
              ++degree[e.from];
            }
            rows out;
            for (uint32_t v = 0; v < g.num_nodes; ++v) out.push_back(fmt::format("{},{},{}", v, dist[v], degree[v]));
            return out;
          });
}

// Descending, signed order of two columns; groups by the first one push to later groups when they end.
TEST(pq_scan, goes_down_as_well) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::pair<int, int>> events;  // (level, time)
    for (uint64_t n = random() % 60; n > 0; --n)
      events.emplace_back(static_cast<int>(random() % 12) - 6, static_cast<int>(random() % 20) - 10);
    const auto earlier = [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    std::sort(events.begin(), events.end(), earlier);
    rows in, right;
    for (const auto& [level, time] : events) in.push_back(fmt::format("{},{}", level, time));

    // A group of n events sends n - 1 to the level below, at time n.
    std::vector<std::pair<int, int>> all = events;
    for (size_t i = 0; i < all.size();) {
      const int level = all[i].first;
      int count = 0;
      for (; i < all.size() && all[i].first == level; ++i) {
        ++count;
        right.push_back(fmt::format("{},{},{}", level, all[i].second, count));
      }
      right.push_back(fmt::format("{},0,-1", level));
      if (count < 2) continue;
      all.emplace_back(level - 1, count);
      std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(i), all.end(), earlier);
    }
    const std::string nodes =
        "in: {op: test.rows, with: {type: {level: i16, time: i32}, sorted_by: [-level, time]}}\n"
        "x:\n"
        "  op: pq_scan\n"
        "  in: in\n"
        "  with:\n"
        "    order: [-level, time]\n"
        "    group: [level]\n"
        "    state: {n: i32(0)}\n"
        "    on:\n"
        "      - {set: {n: n + 1}, emit: {level: level, time: time, n: n}}\n"
        "    at_end:\n"
        "      - {when: n > 1, push: {level: level - 1, time: n}}\n"
        "      - {emit: {level: level, time: i32(0), n: i32(-1)}}\n" +
        out_of_x;
    ASSERT_EQ(run(nodes, {{"in", in}}, {.seed = seed, .most_rows = 7, .force_spill = true}).sinks["out"], right)
        << seed;
    EXPECT_EQ(output_of(nodes, "x"), "{level: i16, time: i32, n: i32} by -level");
  }
}

TEST(pq_scan, has_several_ports_and_float_columns) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {t: f32, b: bool, s: string}, sorted_by: [t]}}\n"
      "x:\n"
      "  op: pq_scan\n"
      "  in: {rows: in}\n"
      "  with:\n"
      "    order: [t]\n"
      "    state: {sum: 0.0}\n"
      "    on:\n"
      "      - {from: rows, when: b, set: {sum: sum + t}, push: {t: t + 2.0, b: \"true\"}, emit: {t: t, sum: sum}, to: "
      "yes}\n"
      "      - {from: messages, emit: {t: t, was: b}, to: echo}\n"
      "out: {op: test.sink, in: x.echo}\n"
      "other: {op: test.sink, in: x.yes}\n";
  const run_result result = run(nodes, {{"in", {"-2.5,true,a", "-1,false,b", "1.5,true,c"}}});
  EXPECT_THAT(result.sinks.at("out"), ElementsAre("-0.5,true", "3.5,true"));
  EXPECT_THAT(result.sinks.at("other"), ElementsAre("-2.5,-2.5", "1.5,-1"));
  // A NaN may have other bits, by which it is ordered, once it was computed with as f64.
  EXPECT_EQ(output_of(nodes, "x", 0), "{t: f32, sum: f64} by nothing");
  EXPECT_EQ(output_of(std::regex_replace(nodes, std::regex("f32"), "f64"), "x", 0), "{t: f64, sum: f64} by t");
}

TEST(pq_scan, takes_empty_inputs) {
  const std::string nodes = graph_in +
                            "x: {op: pq_scan, in: {a: nodes, b: edges}, with: {order: [node], on: [{from: b, push: "
                            "{node: to}}, {emit: {node: node}}], at_end: [{emit: {node: u32(7)}}]}}\n" +
                            out_of_x;
  EXPECT_THAT(run_all_ways(nodes, {{"nodes", {}}, {"edges", {}}}), IsEmpty());
  EXPECT_THAT(run_all_ways(nodes, {{"nodes", {"3"}}, {"edges", {}}}), ElementsAre("3", "7"));
  EXPECT_THAT(run_all_ways(nodes, {{"nodes", {}}, {"edges", {"3,5,0"}}}), ElementsAre("3", "5", "7"));
  EXPECT_EQ(output_of(nodes, "x"), "{node: u32} by nothing");  // 7 comes at the end
}

TEST(pq_scan, refuses_pushes_into_the_past) {
  const std::string nodes = graph_in +
                            "x: {op: pq_scan, in: {nodes: nodes, edges: edges}, with: {order: [node], group: [node], "
                            "on: [{emit: {node: node}}, {from: edges, push: {node: to}}]}}\n" +
                            out_of_x;
  for (const std::string to : {"4", "3"}) {
    try {
      run(nodes, {{"nodes", {"1", "4"}}, {"edges", {"1,2,0", "4," + to + ",0"}}});
      FAIL() << "no error";
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      EXPECT_THAT(e.what(), HasSubstr("node 'x': rule 2 of 'on' pushes {node: " + to +
                                      "} into the past, at row 1 of 'edges' with {node: 4}"));
      EXPECT_THAT(e.hint(), HasSubstr("node"));
    }
  }
  try {
    run(graph_in +
            "x: {op: pq_scan, in: {nodes: nodes}, with: {order: [node], group: [node], on: [{emit: {node: node}}], "
            "at_end: [{push: {node: node}}]}}\nnone: {op: test.sink, in: edges}\n" +
            out_of_x,
        {{"nodes", {"9"}}, {"edges", {}}});
    FAIL() << "no error";
  } catch (const error& e) {
    EXPECT_THAT(e.what(), HasSubstr("rule 1 of 'at_end' pushes {node: 9} into the past, at the end of the group"));
  }
}

std::vector<std::string> faults_with(const std::string& parameters,
                                     const std::string& in = "{nodes: nodes, edges: edges}") {
  return faults_of(graph_in + "x: {op: pq_scan, in: " + in + ", with: {" + parameters + "}}\n" +
                   (in.find("edges") == std::string::npos ? "none: {op: test.sink, in: edges}\n" : "") +
                   (in.find("nodes") == std::string::npos ? "none: {op: test.sink, in: nodes}\n" : "") + out_of_x);
}

TEST(pq_scan, faults_name_the_rule) {
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}}, {push: {nod: to}}]"),
              ElementsAre(AllOf(HasSubstr("messages have no column 'nod'"), HasSubstr("'node'"))));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}}, {from: edgs, push: {node: to}}]"),
              ElementsAre(AllOf(HasSubstr("there is no input 'edgs'"), HasSubstr("messages, nodes, edges"))));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}}, {emit: {n: to, m: to}}]"),
              ElementsAre(HasSubstr("the rule emits {n: u32, m: u32} where a rule before it emits {n: u32}")));
  EXPECT_THAT(faults_with("order: [node], state: {a: 0}, on: [{emit: {n: node}, set: {b: 1}}]"),
              ElementsAre(HasSubstr("'b' is not a variable of `state`")));
  EXPECT_THAT(faults_with("order: [node], on: [{push: {node: to}}]"), ElementsAre(HasSubstr("no rule emits anything")));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}, psh: {node: to}}]"),
              ElementsAre(AllOf(HasSubstr("a rule has no 'psh'"), HasSubstr("push"))));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}}, {from: nodes}]"),
              ElementsAre(HasSubstr("the rule does nothing")));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: string(node)}}]"),
              ElementsAre(HasSubstr("has to do with text")));
}

TEST(pq_scan, faults_of_orders_and_columns) {
  EXPECT_THAT(faults_with("order: [node, to], on: [{emit: {n: node}}]"),
              ElementsAre(HasSubstr("'nodes' has no column 'to'")));
  EXPECT_THAT(faults_with("order: [node], group: [to], on: [{emit: {n: node}}]", "edges"),
              ElementsAre(HasSubstr("'to' is not among the leading columns of `order`")));
  EXPECT_THAT(faults_with("order: [to], on: [{emit: {n: node}}]", "edges"),
              ElementsAre(AllOf(HasSubstr("needs 'edges' sorted by to"), HasSubstr("op: sort"))));
  EXPECT_THAT(faults_with("order: [node], message: {a: \"bytes[3]\"}, on: [{emit: {n: node}, push: {node: to}}]"),
              ElementsAre(HasSubstr("'a' is bytes[3]")));
  EXPECT_THAT(faults_with("order: [node], at_end: [{push: {node: u32(5)}}], on: [{emit: {n: node}}]"),
              ElementsAre(HasSubstr("nothing comes after the only group")));
  EXPECT_THAT(faults_with("order: [node], on: [{emit: {n: node}}]", "{messages: nodes, e: edges}"),
              ElementsAre(HasSubstr("an input can't be named 'messages'")));
}

}  // namespace
}  // namespace flowrun::operators::testing
