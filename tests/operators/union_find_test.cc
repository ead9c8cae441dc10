// union_find: connected components and spanning forests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/base/error.h"
#include "operators/parts/algorithms/disjoint_sets.h"
#include "tests/operators/harness.h"

namespace flowrun::operators::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string job(const std::string& type, const std::string& with) {
  return "in: {op: test.rows, with: {type: {" + type + "}}}\nx: {op: union_find, in: in, with: {" + with +
         "}}\naccepted: {op: test.sink, in: x.accepted}\nlabels: {op: test.sink, in: x.labels}\n";
}

struct edge {
  size_t src, dst;
};

// Labels by flooding, edge after edge.
struct slow_components {
  explicit slow_components(size_t n) : label(n) {
    for (size_t i = 0; i < n; ++i) label[i] = i;
  }
  bool unite(size_t a, size_t b) {
    const size_t from = std::max(label[a], label[b]), to = std::min(label[a], label[b]);
    std::replace(label.begin(), label.end(), from, to);
    return from != to;
  }
  std::vector<size_t> label;
};

void random_case(uint64_t seed, size_t num_nodes, size_t num_edges, const std::string& id_type) {
  std::mt19937_64 random(seed);
  slow_components expected(num_nodes);
  rows input, accepted, labels;
  for (size_t i = 0; i < num_edges; ++i) {
    const edge e{random() % num_nodes, random() % num_nodes};
    input.push_back(fmt::format("{},{},{}", i * 7, e.dst, e.src));
    if (expected.unite(e.src, e.dst)) accepted.push_back(input.back());
  }
  for (size_t i = 0; i < num_nodes; ++i) labels.push_back(fmt::format("{},{}", i, expected.label[i]));
  const std::string nodes =
      job(fmt::format("w: u32, to: {0}, from: {0}", id_type), fmt::format("ends: [from, to], nodes: {}", num_nodes));
  const run_options options[] = {{}, {.seed = 2, .most_rows = 1, .batch_bytes = 1}, {.seed = 3, .most_rows = 70}};
  for (const run_options& o : options) {
    run_result result = run(nodes, {{"in", input}}, o);
    EXPECT_EQ(result.sinks["accepted"], accepted) << "seed " << seed;
    EXPECT_EQ(result.sinks["labels"], labels) << "seed " << seed;
  }
}

TEST(union_find, finds_components_and_a_forest) {
  random_case(1, 1, 5, "u8");
  random_case(2, 256, 100, "u8");
  random_case(3, 1000, 500, "u32");
  random_case(4, 1000, 3000, "u24");
  random_case(5, 3000, 2800, "u64");
}

TEST(union_find, keeps_a_rows_strings) {
  run_result result = run(job("src: u32, dst: u32, s: string", "nodes: 2 + 1"),
                          {{"in", {"0,0,loop", "0,2,first", "2,0,again", "1,1,loop"}}});
  EXPECT_THAT(result.sinks["accepted"], ElementsAre("0,2,first"));
  EXPECT_THAT(result.sinks["labels"], ElementsAre("0,0", "1,1", "2,0"));
}

TEST(union_find, handles_paths_in_any_direction) {
  for (const bool descending : {false, true}) {
    disjoint_sets<uint32_t> sets(100000);
    for (uint32_t i = 1; i < 100000; ++i) {
      const uint32_t x = descending ? 100000 - i : i;
      EXPECT_TRUE(sets.unite(x - 1, x));
    }
    EXPECT_EQ(sets.find(99999), 0u);
    for (uint32_t i = 0; i < 100000; ++i) ASSERT_EQ(sets.settle(i), 0u);
  }
}

TEST(union_find, takes_no_nodes) {
  run_result result = run(job("src: u32, dst: u32", "nodes: 0"), {{"in", {}}});
  EXPECT_THAT(result.sinks["labels"], IsEmpty());
}

TEST(union_find, gives_one_port_alone) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {src: u32, dst: u32}}}\nx: {op: union_find, in: in, with: {nodes: 3}}\n";
  EXPECT_THAT(run(nodes + "out: {op: test.sink, in: x.labels}\n", {{"in", {"1,2"}}}).sinks["out"],
              ElementsAre("0,0", "1,1", "2,1"));
  EXPECT_THAT(run(nodes + "out: {op: test.sink, in: x.accepted}\n", {{"in", {"1,2", "2,1"}}}).sinks["out"],
              ElementsAre("1,2"));
}

std::vector<size_t> places_of(const std::string& with, const rows& edges, const run_options& options = {}) {
  const run_result result =
      run("in: {op: test.rows, with: {type: {src: u32, dst: u32}}}\nx: {op: union_find, in: in, with: {" + with +
              "}}\nout: {op: test.sink, in: x.tour}\n",
          {{"in", edges}}, options);
  std::vector<size_t> places;
  for (const std::string& row : result.sinks.at("out")) {
    const size_t comma = row.find(',');
    EXPECT_EQ(std::stoul(row), places.size());
    places.push_back(std::stoul(row.substr(comma + 1)));
  }
  return places;
}

TEST(union_find, tours_go_along_the_trees) {
  EXPECT_THAT(places_of("nodes: 0", {}), IsEmpty());
  EXPECT_THAT(places_of("nodes: 3", {}), ElementsAre(0, 1, 2));
  EXPECT_THAT(places_of("nodes: 4", {"0,1", "1,2", "2,3"}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(places_of("nodes: 4", {"2,3", "0,2", "1,1"}), ElementsAre(0, 3, 2, 1));
  // A star, and another component whose nodes lie between.
  EXPECT_THAT(places_of("nodes: 6", {"0,2", "4,0", "1,5", "2,4"}), ElementsAre(0, 3, 2, 5, 1, 4));
}

// A tour is one circle through each component. Two circles that an edge joins stay pieces of the joined circle: each is
// one piece without a gap once the nodes that came later are taken out.
TEST(union_find, tours_keep_what_was_joined_together) {
  std::mt19937_64 random(11);
  for (const size_t num_edges : {20, 100, 300}) {
    constexpr size_t n = 100;
    rows input;
    slow_components components(n);
    std::vector<std::pair<std::vector<size_t>, std::vector<size_t>>> joined;  // the two components of each tree edge
    const auto component = [&](size_t x) {
      std::vector<size_t> out;
      for (size_t i = 0; i < n; ++i)
        if (components.label[i] == components.label[x]) out.push_back(i);
      return out;
    };
    for (size_t i = 0; i < num_edges; ++i) {
      const edge e{random() % n, random() % n};
      input.push_back(fmt::format("{},{}", e.src, e.dst));
      std::pair two(component(e.src), component(e.dst));
      if (components.unite(e.src, e.dst)) joined.push_back(std::move(two));
    }
    const std::vector<size_t> places = places_of("nodes: 100", input, {.seed = 5, .most_rows = 13, .batch_bytes = 64});
    std::vector<size_t> node_at(n, n);
    for (size_t i = 0; i < n; ++i) node_at.at(places[i]) = i;
    EXPECT_EQ(std::count(node_at.begin(), node_at.end(), n), 0);
    size_t last_label = 0;
    for (const size_t node : node_at) {  // components by their smallest nodes
      EXPECT_LE(last_label, components.label[node]);
      last_label = components.label[node];
    }
    for (const auto& [a, b] : joined) {
      std::string circle;
      for (const size_t node : node_at) {
        if (std::find(a.begin(), a.end(), node) != a.end()) circle += 'a';
        if (std::find(b.begin(), b.end(), node) != b.end()) circle += 'b';
      }
      size_t num_changes = circle.front() != circle.back();
      for (size_t i = 1; i < circle.size(); ++i) num_changes += circle[i] != circle[i - 1];
      EXPECT_EQ(num_changes, 2u) << circle;
    }
  }
}

TEST(union_find, names_ids_that_are_too_large) {
  for (const std::string bad : {"3,5", "5,3"}) {
    try {
      run(job("src: u32, dst: u32", "nodes: 5"), {{"in", {"1,2", "4,0", bad, "9,9"}}}, {.most_rows = 2});
      FAIL() << "no error";
    } catch (const error& e) {
      EXPECT_EQ(e.kind(), error_kind::bad_data);
      EXPECT_THAT(e.what(), HasSubstr("node 'x': row 2 of 'in' (counted from 0) has the node 5, and `nodes` is 5"));
      EXPECT_THAT(e.hint(), HasSubstr("raise `nodes`"));
    }
  }
}

TEST(union_find, says_what_its_outputs_are) {
  const std::string nodes =
      "in: {op: test.rows, with: {type: {src: u40, w: u8, dst: u40}, sorted_by: [w]}}\n"
      "x: {op: union_find, in: in, with: {nodes: 9}}\n"
      "a: {op: test.sink, in: x.accepted}\nl: {op: test.sink, in: x.labels}\n";
  EXPECT_EQ(output_of(nodes, "x", 0), "{src: u40, w: u8, dst: u40} by w");
  EXPECT_EQ(output_of(nodes, "x", 1), "{node: u40, value: u40} by node");
  EXPECT_EQ(output_of(nodes, "x", 2), "{node: u40, place: u40} by node");
}

TEST(union_find, reports_faults) {
  const auto faults = [](const std::string& type, const std::string& with) { return faults_of(job(type, with)); };
  EXPECT_THAT(faults("src: u32, dst: u32", ""), ElementsAre(HasSubstr("needs the parameter 'nodes'")));
  EXPECT_THAT(faults("src: u32, dst: u32", "nodes: i64(-1)"), ElementsAre(HasSubstr("no number of nodes")));
  EXPECT_THAT(faults("src: u32, dst: u32", "nodes: src"), ElementsAre(HasSubstr("unknown name 'src'")));
  EXPECT_THAT(faults("src: u32, dst: u32", "nodes: 3, ends: [src]"), ElementsAre(HasSubstr("an edge has two ends")));
  EXPECT_THAT(faults("src: u32, dst: u64", "nodes: 3"),
              ElementsAre(AllOf(HasSubstr("'src' is u32, 'dst' is u64"), HasSubstr("one unsigned type"))));
  EXPECT_THAT(faults("src: i32, dst: i32", "nodes: 3"), ElementsAre(HasSubstr("'src' is i32")));
  EXPECT_THAT(faults("src: u8, dst: u8", "nodes: 300"), ElementsAre(HasSubstr("u8 has no numbers for 300 nodes")));
  EXPECT_THAT(faults("from: u8, dst: u8", "nodes: 3"), ElementsAre(HasSubstr("no column 'src'")));
}

}  // namespace
}  // namespace flowrun::operators::testing
