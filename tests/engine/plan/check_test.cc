// Types and orders along a graph, and every kind of fault with its place.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/plan/graph.h"
#include "tests/engine/plan/toy_operators.h"

namespace flowrun::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> faults_of(const std::string& nodes) {
  const toy_operators toys;
  return short_faults(check_job(toys, nodes).faults);
}

fault only_fault(const std::string& nodes) {
  const toy_operators toys;
  const check_result result = check_job(toys, nodes);
  EXPECT_EQ(result.faults.size(), 1u) << render(result.faults, "flowrun: 1\n" + nodes);
  return result.faults.empty() ? fault{} : result.faults.front();
}

TEST(Check, TypesOrdersAndEstimatesFlow) {
  const toy_operators toys;
  const graph g = good_graph(toys, R"(types: {edge: {src: u32, dst: u40}}
nodes:
  w: {op: sink, in: g, with: {path: o}}
  a: {op: source, with: {type: edge, rows: 10, path: in.bin}}
  s: {op: sort, in: a, with: {by: [-dst, src]}}
  m: {op: map, in: s, with: {to: dst, from: src, more: "src + 1"}}
  g: {op: group, in: m, with: {by: [to], let: {n: count(), top: max(from)}}}
)",
                             {{"in.bin", 90}});
  const node* m = g.find("m");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(record::to_string(m->outputs[0].type), "{to: u40, from: u32, more: u64}");
  EXPECT_EQ(to_string(m->outputs[0].sorted_by), "-to, from");
  EXPECT_EQ(m->outputs[0].estimate.rows, 10u);
  EXPECT_EQ(m->outputs[0].estimate.num_bytes, 170u);
  EXPECT_EQ(record::to_string(g.find("g")->outputs[0].type), "{to: u40, n: u64, top: u32}");
  EXPECT_EQ(g.find("a")->facts.input_bytes, 90u);
  EXPECT_EQ(g.nodes.front().id, "a");
  EXPECT_EQ(g.nodes.back().id, "w");
  EXPECT_EQ(g.find("nobody"), nullptr);
}

TEST(Check, AllFaultsAtOnce) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {rows: many, mode: fasst}}
  b: {op: source, on_error: {to: bad}}
  c: {op: flter, in: b, with: {where: "x > 1"}}
  d: {op: filter, in: b, with: {wher: "x > 1"}}
  e: {op: map, in: b.good, with: {x: x}}
  w: {op: sink, in: a, with: {path: o}}
  v: {op: sink, in: c, with: {path: p}}
)"),
              ElementsAre("3:32 'many' is not right for 'rows'", "3:44 'fasst' is not right for 'mode'",
                          "4:34 nobody reads the rejected rows of 'b' (port 'b.bad')", "5:11 unknown operator 'flter'",
                          "6:3 the rows of 'd' are never used", "6:11 'filter' needs the parameter 'where'",
                          "6:33 'filter' has no parameter 'wher'", "7:3 the rows of 'e' are never used",
                          "7:20 'b' has no output 'good'"));
}

TEST(Check, DidYouMean) {
  EXPECT_EQ(only_fault("nodes:\n  a: {op: sorce}\n").hint, "did you mean 'source'?");
  EXPECT_THAT(only_fault("nodes:\n  a: {op: sorce}\n").expected, HasSubstr("one of concat, count, filter"));
  EXPECT_EQ(only_fault("nodes:\n  a: {op: source, with: {row: 1}}\n  n: {op: count, in: a}\n").hint,
            "did you mean 'rows'?");
  EXPECT_EQ(only_fault("nodes:\n  a: {op: source, with: {mode: slov}}\n  n: {op: count, in: a}\n").hint,
            "did you mean 'slow'?");
}

TEST(Check, ExpressionProblemsPointIntoTheText) {
  // where: "x > zz" — the quote stands in column 34, zz five bytes behind it.
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source}
  f: {op: filter, in: a, with: {where: "x > zz"}}
  g: {op: filter, in: a, with: {where: x > zz}}
  n: {op: count, in: f}
  m: {op: count, in: g}
)"),
              ElementsAre(HasSubstr("4:45 "), HasSubstr("5:44 ")));
}

TEST(Check, ConditionsMustBeBool) {
  EXPECT_EQ(
      faults_of("nodes:\n  a: {op: source}\n  f: {op: filter, in: a, with: {where: x + y}}\n  n: {op: count, in: f}\n")
          .size(),
      1u);
}

TEST(Check, AFaultyNodeSilencesWhatIsBehindIt) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {type: {src: u65}}}
  m: {op: map, in: a, with: {nonsense: "no + such"}}
  s: {op: sort, in: m, with: {by: [nothing]}}
  w: {op: sink, in: s, with: {path: o}}
)"),
              ElementsAre("3:38 'u65' is no value type"));
}

TEST(Check, RowTypes) {
  EXPECT_EQ(
      only_fault("types: {edge: {a: u8}}\nnodes:\n  a: {op: source, with: {type: edgy}}\n  n: {op: count, in: a}\n")
          .hint,
      "did you mean 'edge'?");
  EXPECT_THAT(faults_of("nodes:\n  a: {op: source, with: {type: {or: u8, b-c: u8}}}\n  n: {op: count, in: a}\n"),
              ElementsAre("3:33 'or' can't name a column: expressions use the word", "3:41 'b-c' can't name a column"));
  EXPECT_THAT(faults_of("nodes:\n  a: {op: source, with: {type: [u8]}}\n  n: {op: count, in: a}\n"),
              ElementsAre("3:32 a row type is missing: this is a list"));
}

TEST(Check, ParameterShapes) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {rows: -1}}
  b: {op: source, with: {rows: {x: 1}}}
  c: {op: source, with: {rows: 1.5}}
  d: {op: source}
  s: {op: sort, in: d, with: {by: {x: y}, memory: lots}}
  p: {op: split, in: d, with: {ports: [x]}}
  w: {op: sink, in: d, with: {path: ""}}
  n: {op: count, in: a}
  m: {op: count, in: b}
  o: {op: count, in: c}
  q: {op: count, in: s}
  r: {op: count, in: p.x}
)"),
              ElementsAre("3:32 '-1' is not right for 'rows'", "4:32 'rows' is a map",
                          "5:32 '1.5' is not right for 'rows'", "7:35 'by' is a map",
                          "7:51 'lots' is not right for 'memory'", "8:39 'ports' is a list", "9:37 'path' is empty"));
}

TEST(Check, Inputs) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, in: b}
  b: {op: source, with: {sorted_by: [x]}}
  f: {op: filter, in: [b, b], with: {where: "true"}}
  g: {op: filter, with: {where: "true"}}
  j: {op: join, in: [b, b], with: {by: [x]}}
  k: {op: join, in: {left: b, rigth: b}, with: {by: [x]}}
  c: {op: concat, in: {x: b}}
  w: {op: sink, in: b, with: {path: o}}
  v: {op: sink, in: w, with: {path: p}}
  n: {op: count, in: a}
  m: {op: concat, in: [f, g, j, k, c]}
  z: {op: count, in: m}
)"),
              ElementsAre("3:23 'source' has no input", "5:23 'filter' has one input, not 2", "6:11 'g' has no input",
                          "7:21 'join' needs to know which input is which", "8:21 the input 'right' of 'k' is missing",
                          "8:38 'join' has no input 'rigth'", "9:23 the inputs of 'concat' have no names",
                          "11:21 'w' has no output: sink writes outside"));
}

TEST(Check, NamedSingleInputAndListOfOne) {
  EXPECT_THAT(faults_of("nodes:\n  a: {op: source}\n  n: {op: count, in: {in: a}}\n  c: {op: concat, in: a}\n  m: {op: "
                        "count, in: [c]}\n"),
              ElementsAre());
}

TEST(Check, MissingOrderNamesTheSort) {
  const fault f = only_fault(R"(nodes:
  a: {op: source, on_error: {to: bad}}
  b: {op: source, with: {sorted_by: [x]}}
  j: {op: join, in: {left: b, right: a}, with: {by: [x]}}
  n: {op: count, in: j}
  r: {op: count, in: a.bad}
)");
  EXPECT_EQ(f.where.line, 5);
  EXPECT_EQ(f.where.column, 38);
  EXPECT_EQ(f.message, "'join' needs 'a' sorted by x");
  EXPECT_EQ(f.hint, "add  a_sorted: {op: sort, in: a, with: {by: [x]}}  and read from a_sorted");
}

TEST(Check, AdjacencyNamesTheSort) {
  const fault f = only_fault(
      "nodes:\n  a: {op: source}\n  g: {op: group, in: a, with: {by: [y, x], let: {n: \"count()\"}}}\n  n: {op: count, "
      "in: g}\n");
  EXPECT_EQ(f.message, "'group' needs equal y, x of 'a' next to each other");
  EXPECT_THAT(f.hint, HasSubstr("with: {by: [y, x]}"));
}

TEST(Check, UnknownColumns) {
  const fault f = only_fault(
      "nodes:\n  a: {op: source, with: {sorted_by: [x]}}\n  g: {op: group, in: a, with: {by: [xx], let: {n: "
      "\"count()\"}}}\n  n: {op: count, in: g}\n");
  EXPECT_EQ(f.message, "'a' has no column 'xx'");
  EXPECT_EQ(f.hint, "did you mean 'x'?");
  EXPECT_EQ(f.where.column, 37);
}

TEST(Check, UnusedOutputs) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source}
  t: {op: split, in: a, with: {ports: {low: "x < y", high: "true"}}}
  n: {op: count, in: t.low}
  b: {op: source}
)"),
              ElementsAre("4:3 the output 'high' of 't' is never used", "6:3 the rows of 'b' are never used"));
}

TEST(Check, OnErrorOnlyWhereRowsAreRejected) {
  EXPECT_THAT(faults_of("nodes:\n  a: {op: source}\n  n: {op: count, in: a, on_error: {to: skip}}\n"),
              ElementsAre("4:25 'count' rejects no rows"));
  EXPECT_THAT(only_fault("nodes:\n  a: {op: source}\n  n: {op: count, in: a.bad}\n  m: {op: count, in: a}\n").hint,
              HasSubstr("on_error: {to: bad}"));
}

TEST(Check, FilesThatClash) {
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {path: data/in}}
  v: {op: sink, in: a, with: {path: ./out}}
  w: {op: sink, in: a, with: {path: out}}
  x: {op: sink, in: a, with: {path: data/../data/in}}
)"),
              ElementsAre("5:37 'v' and 'w' both write 'out'", "6:37 'x' writes 'data/in', which 'a' reads"));
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {path: data/in}}
  v: {op: sink, in: a, with: {path: out/../out/b}}
  w: {op: sink, in: a, with: {path: out}}
  x: {op: sink, in: a, with: {path: outer/b}}
)"),
              ElementsAre("4:37 'v' writes 'out/../out/b', which lies in 'out', and that is a file, which 'w' writes"));
  EXPECT_THAT(faults_of(R"(nodes:
  a: {op: source, with: {path: "-"}}
  b: {op: source, with: {path: "-"}}
  n: {op: sink, in: a, with: {path: "-"}}
  m: {op: sink, in: b, with: {path: o}}
)"),
              ElementsAre("4:32 'a' and 'b' both read standard input"));
}

// What the system takes a path to be is told by the caller.
TEST(Check, FilesThatAreOneUnderTwoNames) {
  outer_files files;
  files.identify = [](const std::string& path, bool writes) {
    file_identity out;
    out.entry = path == "link" ? "file" : path == "/dev/stdout" || (path == "-" && writes) ? "descriptor 1" : path;
    out.read_once = path == "pipe";
    return out;
  };
  files.own = {{"r.json", "--report", true, {}}, {"job.yaml", "flowrun", false, {}}};
  const toy_operators toys;
  const auto faults = [&](const std::string& nodes) { return short_faults(check_job(toys, nodes, {}, files).faults); };
  EXPECT_THAT(faults(R"(nodes:
  a: {op: source, with: {path: data}}
  v: {op: sink, in: a, with: {path: file}}
  w: {op: sink, in: a, with: {path: link}}
  x: {op: sink, in: a, with: {path: "-"}}
  y: {op: sink, in: a, with: {path: /dev/stdout}}
)"),
              ElementsAre("5:37 'v' and 'w' both write one file, as 'file' and as 'link'",
                          "7:37 'x' and 'y' both write one file, as '-' and as '/dev/stdout'"));
  EXPECT_THAT(faults(R"(nodes:
  a: {op: source, with: {path: file}}
  v: {op: sink, in: a, with: {path: link}}
)"),
              ElementsAre("4:37 'v' writes 'link', which 'a' reads as 'file'"));
  EXPECT_THAT(faults(R"(nodes:
  a: {op: source, with: {path: pipe}}
  b: {op: source, with: {path: pipe}}
  v: {op: sink, in: a, with: {path: r.json}}
  w: {op: sink, in: b, with: {path: job.yaml}}
)"),
              ElementsAre("4:32 'a' and 'b' both read 'pipe'", "5:37 --report and 'v' both write 'r.json'",
                          "6:37 'w' writes 'job.yaml', which flowrun reads"));
  files.may_replace_inputs = true;
  EXPECT_THAT(faults("nodes:\n  a: {op: source, with: {path: file}}\n  v: {op: sink, in: a, with: {path: link}}\n"),
              ElementsAre());
}

// Which files a path with columns stands for is not known before the run, only which they may be.
TEST(Check, FilesThatMayBeOne) {
  outer_files files;
  files.resolve = [](const std::string& path) { return path.starts_with("link") ? "/dir" + path.substr(4) : path; };
  const toy_operators toys;
  const auto faults = [&](const std::string& read, const std::string& one, const std::string& other) {
    const std::string nodes = fmt::format(
        "nodes:\n  a: {{op: source, with: {{path: {}}}}}\n  v: {{op: sink, in: a, with: {{path: \"{}\"}}}}\n"
        "  w: {{op: sink, in: a, with: {{path: \"{}\"}}}}\n",
        read, one, other);
    return short_faults(check_job(toys, nodes, {}, files).faults);
  };
  EXPECT_THAT(faults("in", "out/{x}.csv", "out/{y}.txt"), ElementsAre());
  EXPECT_THAT(faults("/dir/x=1/in", "out/{x}", "link/x={x}/{y}"),
              ElementsAre("5:37 'w' writes 'link/x={x}/{y}', which may be '/dir/x=1/in', which 'a' reads"));
  EXPECT_THAT(faults("link/in", "/dir/{x}", "/dir/{x}/y"),
              ElementsAre("4:37 'v' writes '/dir/{x}', which may be 'link/in', which 'a' reads"));
  EXPECT_THAT(faults("in", "link/{x}.csv", "/dir/{y}"),
              ElementsAre("5:37 'v' and 'w' may both write one file, as 'link/{x}.csv' and as '/dir/{y}'"));
  EXPECT_THAT(faults("\"-\"", "{x}", "{x}/{y}"), ElementsAre());
  files.may_replace_inputs = true;
  EXPECT_THAT(faults("link/in", "/dir/{x}", "/dir/{x}/y"), ElementsAre());
}

TEST(Check, ElidedSort) {
  const toy_operators toys;
  const graph g = good_graph(toys,
                             "nodes:\n  a: {op: source, with: {sorted_by: [x, y]}}\n  s: {op: sort, in: a, with: {by: "
                             "[x]}}\n  n: {op: count, in: s}\n");
  EXPECT_TRUE(g.find("s")->elided);
  EXPECT_EQ(g.find("s")->role(), operator_role::ordered);
}

TEST(Check, SpecsThatNoReaderMade) {
  const toy_operators toys;
  auto job = std::make_shared<specs::JobSpec>();
  for (const char* id : {"a", "b"}) {
    specs::Node& n = *job->add_nodes();
    n.set_id(id);
    n.set_op("count");
    n.set_input_form(specs::INPUT_SINGLE);
    n.add_inputs()->set_from_node(id[0] == 'a' ? "b" : "a");
  }
  specs::Node& n = *job->add_nodes();
  n.set_id("c");
  n.set_op("count");
  n.set_input_form(specs::INPUT_SINGLE);
  n.add_inputs()->set_from_node("nowhere");
  const check_result result = check(job, toys.catalog(), {});
  ASSERT_EQ(result.faults.size(), 2u);
  EXPECT_EQ(result.faults[0].message, "'a' is on a circle of nodes, or behind one");
  EXPECT_EQ(result.faults[1].message, "there is no node 'nowhere'");
}

}  // namespace
}  // namespace flowrun::plan
